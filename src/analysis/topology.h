// The topology of cells: width and depth, what a space allows, and which wirings are one and the same
// ("Understanding architectures learnt by cell-based NAS", 3.2). No weights, no training.
//
//   const Topology topology = topology_of(find_genotype("darts-v2").cell("normal"));   // 3.5c, 3
//   const Wirings all = wirings(find_space("darts")->cell("normal"), {});
//   all.share(topology);                                                              // 13 of 180
#pragma once

#include <compare>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "nascent/space/space.h"

namespace nascent {

struct Topology {
  double width = 0;  // in units of c, the channels of a node
  int depth = 0;
  auto operator<=>(const Topology&) const = default;
};

// Of the nodes from which a path leads to the output.
Topology topology_of(const CellGenotype& cell);
// "3.5c, 3", as the paper titles its cells; "3.5c-3" fits into names.
std::string topology_title(const Topology& topology);
std::string topology_name(const Topology& topology);

// How a cell of some choices can be wired. Operations do not count, but for `none`, which takes an edge away.
struct WiringRules {
  bool repeat = false;  // a node may take an input twice; its inputs are drawn one by one, so two orders count twice
  int operations = 1;   // of a genotype besides `none`; each wiring counts as often as there are ways to fill it
  bool none = false;    // `none` is among them
};
// Those of a cell of the space: an operation each where the space has no `none`, all of them where it has.
WiringRules wiring_rules(const Space& space, const CellChoices& cell);

// Calls `visit` with every wiring and how often it counts. Edges that are there have the operation skip_connect.
void for_each_wiring(const CellChoices& cell, const WiringRules& rules,
                     const std::function<void(const CellGenotype&, double count)>& visit);
// How many calls that would be; infinite where wirings are not made node by node (NAS-Bench-101).
double count_wirings(const CellChoices& cell, const WiringRules& rules);

// How many wirings have which topology.
struct Wirings {
  std::map<Topology, double> counts{};
  double total = 0;

  Topology narrowest() const;  // the smallest width and the smallest depth there are, not of one cell
  Topology widest() const;     // the largest of each
  // The part of all wirings that are at least as wide and as shallow.
  double share(const Topology& topology) const;
};
Wirings count_topologies(const CellChoices& cell, const WiringRules& rules);

// A text that two cells share if, and only if, one becomes the other by renumbering its nodes. Inputs are told apart.
// Without `operations` only the wiring counts.
std::string canonical_form(const CellGenotype& cell, bool operations);

// The choices of a cell of the genotype: those of its space or, where that takes any wiring, all of as many nodes with
// the same output.
CellChoices choices_of(const Genotype& genotype, const CellGenotype& cell);

// Everything `analyze topology` says about one cell.
struct CellTopology {
  std::string type{};
  Topology topology{};
  std::optional<Wirings> all{};  // nothing where there are too many to go through
};
std::vector<CellTopology> analyse_topology(const Genotype& genotype, std::optional<bool> repeat = std::nullopt);

}  // namespace nascent
