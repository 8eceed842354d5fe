// The candidates of one edge or node, weighted by a mixture where there are several.
#pragma once

#include <torch/nn/module.h>

#include <memory>
#include <string>
#include <vector>

#include "nascent/nn/candidates.h"
#include "nascent/nn/mixture.h"
#include "nascent/nn/stage_sequence.h"
#include "nascent/nn/weighted_sum.h"
#include "nascent/space/plan.h"

namespace nascent {

class MixedOperation : public torch::nn::Module {
 public:
  // Of an edge, and of the operation on a node. Candidates are named by `ops`, "fixed" for "".
  explicit MixedOperation(const EdgePlan& edge);
  explicit MixedOperation(const NodePlan& node);

  // Adds to `sum` the weighted results of the candidates that run, joined with the channels that pass them by. `mask`,
  // where defined, multiplies every candidate's result but that of the identity. `mixture` may be null where site and
  // edge are -1.
  void add_to(WeightedSum& sum, SharedInput& x, const CellMixture* mixture, const at::Tensor& mask) const;

  bool can_drop() const { return nascent::can_drop(stages_); }
  int site() const { return site_; }
  // The candidates, then what passes them by, if anything does.
  std::vector<const StageSequence*> sequences() const;

 private:
  void add_candidates(const std::vector<std::string>& ops, const std::vector<Stages>& candidates);
  std::vector<at::Tensor> results(const std::vector<int>& running, SharedInput& x, const at::Tensor& mask) const;
  at::Tensor op_weights(const CellMixture* mixture, const std::vector<int>& running) const;
  at::Tensor edge_weight(const CellMixture* mixture) const;
  at::Tensor joined(const std::vector<int>& running, SharedInput& x, const CellMixture* mixture,
                    const at::Tensor& mask) const;

  std::vector<Stages> stages_;  // of the candidates
  std::vector<std::shared_ptr<StageSequence>> candidates_;
  int site_, edge_ = -1;  // rows of the mixture, -1 where there is none
  int partial_ = 1;
  std::shared_ptr<StageSequence> bypass_;  // null: all channels pass through the candidates
};

}  // namespace nascent
