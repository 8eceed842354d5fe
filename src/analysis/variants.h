// Variants of a cell, to compare it with ("Understanding architectures learnt by cell-based NAS", A.2 and 5): the same
// operations wired at random, other operations on the same wiring, the widest and shallowest wiring, the deepest, and a
// share of the operations replaced ("Theory-inspired path-regularized DARTS", Fig. 2).
//
//   for (const Variant& variant : make_variants("darts-v2", find_genotype("darts-v2"), {.connections = 13})) ...
#pragma once

#include <string>
#include <vector>

#include "nascent/analysis/topology.h"
#include "nascent/core/options.h"
#include "nascent/core/random.h"

namespace nascent {

// Every source drawn anew from the states before its node. With `repeat` two edges of a node may come from one state.
CellGenotype with_random_connections(const CellGenotype& cell, bool repeat, RandomStream& random);
// Every operation drawn anew.
CellGenotype with_random_operations(const CellGenotype& cell, const std::vector<std::string>& ops,
                                    RandomStream& random);
// Every node takes both cell inputs: an edge that came from a node gets the input that its sibling does not have, and
// of two equal inputs the second changes (Fig. 25).
CellGenotype adapted(const CellGenotype& cell);
// Every node takes the states right before it: the longest path and the fewest edges from the inputs.
CellGenotype deepest(const CellGenotype& cell);
// `share` of the edges, rounded to whole ones and drawn at random, get the operation `op`.
CellGenotype with_replaced_operations(const CellGenotype& cell, const std::string& op, double share,
                                      RandomStream& random);

struct VariantOptions {
  int connections = 13;
  int operations = 0;
  bool adapted = true, deepest = true;
  std::string fill{};  // every operation becomes this one first; empty: they stay
  std::string replace = "skip_connect";
  std::vector<double> shares{};  // of the operations that `replace` takes the place of: a variant each
  bool repeat = true;            // sources may repeat and the output stays: space `cells`
  bool isomorphic = false;       // keep variants that differ only in the numbers of their nodes
  // What operations are drawn from: DARTS's seven, for every base cell.
  std::vector<std::string> ops = {"max_pool_3x3", "avg_pool_3x3", "skip_connect", "sep_conv_3x3",
                                  "sep_conv_5x5", "dil_conv_3x3", "dil_conv_5x5"};
  void declare(OptionTable& table);  // section "variants"
};

struct Variant {
  std::string name{};  // "darts-v2-2.5c-4-a": width and depth of the first cell
  std::string kind{};  // "original", "connections", "operations", "adapted", "deepest", "replaced"
  Genotype genotype{};
  Topology topology{};  // of the first cell
  double share = 0;     // of "replaced"
};

// The original first, then the others by width, then by depth; unless isomorphic ones are kept, one per class: an
// adapted cell is no variant of itself. The genotype stays in its space where it can; what does not belong there is of
// the space `cells`. An Error where cells have one input, or operations on nodes.
std::vector<Variant> make_variants(const std::string& name, const Genotype& genotype, const VariantOptions& options,
                                   uint64_t seed);

// One line per variant, with the parameters and multiply-adds of its network.
struct NetworkOptions;
struct Shape;
std::string variants_csv(const std::vector<Variant>& variants, const NetworkOptions& network, const Shape& input,
                         int classes);

}  // namespace nascent
