// A cell of a network or supernet: preprocessed inputs, nodes that sum their edges, and the concatenated output.
#pragma once

#include <torch/nn/module.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "nn/mixed_operation.h"
#include "nn/mixture.h"
#include "space/plan.h"

namespace nascent {

// What one forward pass through a cell needs beyond its inputs.
struct CellContext {
  const CellMixture* mixture = nullptr;
  double drop_path = 0;
  uint64_t seed = 0, step = 0, cell = 0;  // decide what is dropped
};

// Sub-modules are named after the graph, "node2.from0.sep_conv_3x3.1" being layer 1 of that candidate on the edge from
// state 0 to state 2; so a derived network and its supernet name the same weights alike.
class Cell : public torch::nn::Module {
 public:
  explicit Cell(const CellPlan& plan);

  at::Tensor forward(const std::vector<at::Tensor>& inputs, const CellContext& context) const;

  const std::string& type() const { return type_; }
  size_t inputs() const { return preprocess_.size(); }
  bool is_mixed() const { return sites_ > 0 || edges_ > 0; }
  // An Error unless the mixture has the rows that this cell reads.
  void check(const CellMixture& mixture) const;

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

  void add_node(const NodePlan& plan, int state);
  void note_rows(int site, int ops, int edge);
  at::Tensor node_state(const Node& node, std::vector<SharedInput>& states, const CellContext& context,
                        int& edge_index) const;
  at::Tensor output(std::vector<SharedInput>& states, const CellContext& context) const;

  std::string type_;
  std::vector<std::shared_ptr<StageSequence>> preprocess_;
  std::vector<Node> nodes_;
  std::vector<int> output_, output_edges_;
  std::shared_ptr<StageSequence> shortcut_;  // null: none
  int shortcut_edge_ = -1;
  int sites_ = 0, ops_ = 0, edges_ = 0;  // rows and columns that a mixture must have
};

}  // namespace nascent
