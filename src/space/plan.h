// A network on paper: every stage of every cell, before anything is built. Networks and supernets are the same thing
// here: an edge (or node) with one candidate is discrete, one with several is mixed. The module in src/nn, the counts
// and the engine read plans.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "nascent/core/options.h"
#include "nascent/core/registry.h"
#include "nascent/space/genotype.h"
#include "nascent/space/space.h"
#include "nascent/space/stage.h"

namespace nascent {

struct EdgePlan {
  int from = 0;
  std::vector<std::string> ops{};    // names of the candidates, for messages and pictures ("" for fixed stages)
  std::vector<Stages> candidates{};  // one: discrete; several: mixed by row `site` of the mixture
  int site = -1;                     // row of the cell type's operation weights, -1 where fixed (always in a network)
  int edge = -1;  // row of the cell type's edge weights (index in Space::edges), -1 in networks and fixed blocks
  // Partial channels (PC-DARTS): only the first channels/partial pass through the candidates, the others through
  // `bypass`; the two are joined in this order and shuffled with `partial` groups. The edge weight scales the whole.
  int partial = 1;
  Stages bypass{};
};

struct NodePlan {
  std::vector<EdgePlan> edges{};   // summed
  std::vector<std::string> ops{};  // operation on the sum; empty: none
  std::vector<Stages> candidates{};
  int site = -1;
  int partial = 1;  // as on an edge, for the operation on the sum; what passes by is left as it is
};

struct CellPlan {
  std::string type{};  // cell type of the space; "" for a fixed block (residual block, down-sampling)
  bool reduction = false;
  std::vector<Shape> input_shapes{};  // one per input, before preprocessing. Input i of a two-input cell: 0 = the block
                                      // before the last
  std::vector<Stages> preprocess{};   // one per input
  std::vector<NodePlan> nodes{};
  std::vector<int> output{};        // states concatenated
  std::vector<int> output_edges{};  // rows of edge weights that scale the concatenated states (1Shot1); empty: unscaled
  std::optional<Stages> shortcut{};  // of preprocessed input 0, added to the concatenation (NAS-Bench-101)
  int shortcut_edge = -1;            // row of the edge weight that scales the shortcut (1Shot1), -1: unscaled
  Shape output_shape{};
};

struct NetworkPlan {
  std::string space{}, skeleton{};
  Shape input{};
  int classes = 10;
  std::vector<Stages> stems{};  // in a row; the last two results feed the first cell (one stem: twice the same)
  std::vector<CellPlan> cells{};
  Stages head{};            // from the last cell's output to logits
  Stages auxiliary{};       // second head in training; empty: none
  int auxiliary_cell = -1;  // whose output it reads
};

struct NetworkOptions {
  int channels =
      0;          // 0: the space's own for searching; for training 36, 48, 16, 128 (the skeletons in their order below)
  int cells = 0;  // 0: the space's own for searching; for training 20, 14, 5 a stage, 3 a stack
  std::string skeleton{};  // "": the space's own
  int partial = 1;         // supernets only: 1/partial of the channels pass through the candidates (PC-DARTS)
  bool auxiliary = false;  // a second head at two thirds of the depth; darts skeletons only
  double drop_path = 0;    // final probability of dropping an edge
  int stem_stride = 1;     // of the first convolution: 2 for Tiny-ImageNet; skeletons darts and nasbench201
  void declare(OptionTable& table);
};

// A macro skeleton: how cells are stacked. `genotype` null: the supernet of the space. There are "darts",
// "darts-imagenet", "nasbench201" and "nasbench101". In supernets the batch norms of cells are not affine (but in
// nasbench101), and pools are followed by one in the darts skeletons; stems and residual blocks are as in networks, and
// so are heads but for nasbench101's.
struct SkeletonFacts {
  int fewest_cells = 1;
  std::string retraining = "retrain-nasbench201";  // recipe that networks of it are trained by
};

struct Skeleton {
  static std::string kind() { return "skeleton"; }
  using Registry =
      nascent::Registry<Skeleton,
                        NetworkPlan(const Space&, const Genotype*, const NetworkOptions&, Shape input, int classes),
                        SkeletonFacts>;
};

NetworkPlan plan_supernet(const Space& space, const NetworkOptions& options, Shape input, int classes);
NetworkPlan plan_network(const Space& space, const Genotype& genotype, const NetworkOptions& options, Shape input,
                         int classes);

// What the candidates of an edge or node see of a state: its first channels/partial channels.
Shape candidate_input(const Shape& state, int partial);
// What leaves an edge, with all its channels.
Shape edge_output(const EdgePlan& edge, const Shape& state);

// What the edges of a node add up to; `otherwise` where it has none. `states` are those before it.
Shape sum_shape(const NodePlan& node, const std::vector<Shape>& states, const Shape& otherwise);

// The shapes of a cell's states: its inputs after preprocessing, then its nodes. An Error where edges into a node
// disagree.
std::vector<Shape> state_shapes(const CellPlan& cell);

// Without the auxiliary head unless asked for. A supernet counts every candidate.
int64_t count_parameters(const NetworkPlan& plan, bool with_auxiliary = false);
int64_t count_multiply_adds(const NetworkPlan& plan);

}  // namespace nascent
