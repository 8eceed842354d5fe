#include "nascent/nn/mixed_operation.h"

#include <ATen/ATen.h>

namespace nascent {

MixedOperation::MixedOperation(const EdgePlan& edge) : site_(edge.site), edge_(edge.edge), partial_(edge.partial) {
  add_candidates(edge.ops, edge.candidates);
  if (partial_ > 1) bypass_ = register_module("bypass", std::make_shared<StageSequence>(edge.bypass));
}

MixedOperation::MixedOperation(const NodePlan& node) : site_(node.site), partial_(node.partial) {
  add_candidates(node.ops, node.candidates);
  if (partial_ > 1) bypass_ = register_module("bypass", std::make_shared<StageSequence>(Stages{}));
}

void MixedOperation::add_candidates(const std::vector<std::string>& ops, const std::vector<Stages>& candidates) {
  stages_ = candidates;
  for (size_t i = 0; i < candidates.size(); ++i) {
    const std::string name = i < ops.size() && !ops[i].empty() ? ops[i] : "fixed";
    candidates_.push_back(register_module(name, std::make_shared<StageSequence>(candidates[i])));
  }
}

std::vector<const StageSequence*> MixedOperation::sequences() const {
  std::vector<const StageSequence*> all;
  for (const auto& candidate : candidates_) all.push_back(candidate.get());
  if (bypass_) all.push_back(bypass_.get());
  return all;
}

// Undefined where candidates are not weighted.
at::Tensor MixedOperation::op_weights(const CellMixture* mixture, const std::vector<int>& running) const {
  if (site_ < 0) return {};
  const at::Tensor weights = mixture->ops[site_];
  if (running.empty() || running.size() == candidates_.size()) return weights;
  std::vector<at::Tensor> kept;
  for (const int index : running) kept.push_back(weights[index]);
  return at::stack(kept);
}

// A scalar, undefined where edges are not weighted.
at::Tensor MixedOperation::edge_weight(const CellMixture* mixture) const {
  return edge_ >= 0 && mixture->edges.defined() ? mixture->edges[edge_] : at::Tensor();
}

std::vector<at::Tensor> MixedOperation::results(const std::vector<int>& running, SharedInput& x,
                                                const at::Tensor& mask) const {
  std::vector<at::Tensor> results;
  for (const int index : running) {
    const StageSequence& candidate = *candidates_[index];
    at::Tensor result = candidate.forward(x);
    if (mask.defined() && !candidate.is_identity()) result = result * mask;
    results.push_back(std::move(result));
  }
  return results;
}

namespace {

void add(WeightedSum& sum, const std::vector<at::Tensor>& results, const at::Tensor& weights) {
  if (weights.defined()) {
    sum.add(results, weights);
  } else {
    for (const at::Tensor& result : results) sum.add(result);
  }
}

// One weight for a whole edge, shaped as the weights of its candidates would be.
at::Tensor as_row(const at::Tensor& edge, const CellMixture& mixture) {
  return mixture.ops.dim() == 3 ? edge.expand({1, mixture.ops.size(2)}) : edge.unsqueeze(0);
}

// PyTorch's channel shuffle, in the memory format of `x`. LibTorch's own cannot be differentiated.
at::Tensor shuffled(const at::Tensor& x, int64_t groups) {
  const int64_t n = x.size(0), c = x.size(1), h = x.size(2), w = x.size(3);
  if (x.suggest_memory_format() == at::MemoryFormat::ChannelsLast) {
    const at::Tensor grouped = x.permute({0, 2, 3, 1}).reshape({n, h, w, groups, c / groups});
    return grouped.transpose(3, 4).reshape({n, h, w, c}).permute({0, 3, 1, 2});
  }
  return x.reshape({n, groups, c / groups, h, w}).transpose(1, 2).reshape({n, c, h, w});
}

}  // namespace

// Partial channels: the mixed ones, then those that passed by, shuffled so that the next edge mixes others.
at::Tensor MixedOperation::joined(const std::vector<int>& running, SharedInput& x, const CellMixture* mixture,
                                  const at::Tensor& mask) const {
  auto& [mixed, rest] = x.split(x.value().size(1) / partial_);
  const at::Tensor passed = bypass_->forward(rest);
  WeightedSum sum;
  add(sum, results(running, mixed, mask), op_weights(mixture, running));
  const at::Tensor& like = mixed.value();
  return shuffled(at::cat({sum.result({like.size(0), like.size(1), passed.size(2), passed.size(3)}, like), passed}, 1),
                  partial_);
}

void MixedOperation::add_to(WeightedSum& sum, SharedInput& x, const CellMixture* mixture,
                            const at::Tensor& mask) const {
  static const std::vector<std::vector<int>> kAll;
  const auto& active = mixture ? mixture->active : kAll;
  const std::vector<int> indices = running_candidates(stages_, site_, active);
  const at::Tensor edge = edge_weight(mixture);
  if (bypass_ && !is_idle(site_, active)) {
    return add(sum, {joined(indices, x, mixture, mask)}, edge.defined() ? as_row(edge, *mixture) : edge);
  }
  at::Tensor weights = op_weights(mixture, indices);
  if (edge.defined()) weights = weights.defined() ? weights * edge : as_row(edge, *mixture);
  add(sum, results(indices, x, mask), weights);
}

}  // namespace nascent
