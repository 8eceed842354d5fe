// A cell of a network or supernet: preprocessed inputs, nodes that sum their edges, and the concatenated output.
#pragma once

#include <torch/nn/module.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "nascent/nn/mixed_operation.h"
#include "nascent/nn/mixture.h"
#include "nascent/space/plan.h"

namespace nascent {

class FusedCell;

// What one forward pass through a cell needs beyond its inputs.
struct CellContext {
  const CellMixture* mixture = nullptr;
  double drop_path = 0;
  uint64_t seed = 0, step = 0, cell = 0;  // decide what is dropped
  bool drop_together = false;             // an edge is dropped for all images or for none
};

// Sub-modules are named after the graph, "node2.from0.sep_conv_3x3.1" being layer 1 of that candidate on the edge from
// state 0 to state 2; so a derived network and its supernet name the same weights alike.
class Cell : public torch::nn::Module {
 public:
  explicit Cell(const CellPlan& plan);
  ~Cell() override;

  // By the engine in use (see engine.h).
  at::Tensor forward(const std::vector<at::Tensor>& inputs, const CellContext& context) const;
  // The states that make up the output, side by side, and the shortcut behind them, by LibTorch's plain operations.
  at::Tensor plain_states(const std::vector<at::Tensor>& inputs, const CellContext& context) const;

  const CellPlan& plan() const { return plan_; }
  const std::string& type() const { return plan_.type; }
  size_t inputs() const { return plan_.preprocess.size(); }
  // Every list of stages of the plan as a module, in the plan's order: preprocessing; edge by edge the candidates and
  // what passes them by, then those of the operation on the node; the shortcut.
  const std::vector<const StageSequence*>& sequences() const { return sequences_; }
  int edge_count() const { return edge_count_; }
  bool is_mixed() const { return sites_ > 0 || edges_ > 0; }
  // An Error unless the mixture has the rows that this cell reads.
  void check(const CellMixture& mixture) const;

  // True where the pass drops paths.
  bool drops(const CellContext& context) const { return context.drop_path > 0 && !plan_.type.empty(); }

 private:
  struct Edge {
    int from = 0;
    std::shared_ptr<MixedOperation> operation;
  };
  struct Node {
    std::vector<Edge> edges;
    std::shared_ptr<MixedOperation> operation;  // null: the sum is the state
    Shape sum_shape, shape;
  };
  struct Parts {
    std::vector<std::shared_ptr<StageSequence>> preprocess;
    std::vector<Node> nodes;
    std::shared_ptr<StageSequence> shortcut;  // null: none
  };

  void note_sequences(const std::vector<const StageSequence*>& sequences);
  void add_node(const NodePlan& plan, int state);
  void note_rows(int site, int ops, int edge);
  at::Tensor node_state(const Node& node, std::vector<SharedInput>& states, const CellContext& context,
                        int& edge_index) const;
  at::Tensor output(const at::Tensor& states, const CellContext& context) const;

  CellPlan plan_;
  Parts parts_;
  std::vector<const StageSequence*> sequences_;
  int edge_count_ = 0;
  int sites_ = 0, ops_ = 0, edges_ = 0;  // rows and columns that a mixture must have
  std::unique_ptr<FusedCell> fused_;
};

// Per image 1/keep or 0, as in DARTS, or the same for all; `edge` is the edge's place in the cell.
std::vector<float> drop_mask(int64_t images, const CellContext& context, int edge);

}  // namespace nascent
