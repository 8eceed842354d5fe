#include "nn/mixed_operation.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <numeric>

#include "core/error.h"

namespace nascent {

MixedOperation::MixedOperation(const std::vector<std::string>& ops, const std::vector<Stages>& candidates, int site,
                               int edge)
    : site_(site), edge_(edge) {
  for (size_t i = 0; i < candidates.size(); ++i) {
    const std::string name = i < ops.size() && !ops[i].empty() ? ops[i] : "fixed";
    candidates_.push_back(register_module(name, std::make_shared<StageSequence>(candidates[i])));
  }
}

bool MixedOperation::can_drop() const {
  return std::any_of(candidates_.begin(), candidates_.end(),
                     [](const auto& candidate) { return !candidate->is_identity() && !candidate->is_zero(); });
}

std::vector<int> MixedOperation::running(const CellMixture* mixture) const {
  std::vector<int> indices(candidates_.size());
  std::iota(indices.begin(), indices.end(), 0);
  if (site_ >= 0 && !mixture->active.empty()) indices = mixture->active[site_];
  const int count = static_cast<int>(candidates_.size());
  for (const int index : indices) {
    if (index < 0 || index >= count) fail("A mixture activates candidate {} of {} (counted from 0).", index, count);
  }
  std::erase_if(indices, [&](int index) { return candidates_[index]->is_zero(); });
  return indices;
}

// Undefined where nothing weights this place.
at::Tensor MixedOperation::weights(const CellMixture& mixture, const std::vector<int>& running) const {
  at::Tensor weights;
  if (site_ >= 0) {
    weights = mixture.ops[site_];
    if (!running.empty() && running.size() < candidates_.size()) {
      std::vector<at::Tensor> kept;
      for (const int index : running) kept.push_back(weights[index]);
      weights = at::stack(kept);
    }
  }
  if (edge_ < 0 || !mixture.edges.defined()) return weights;
  const at::Tensor edge = mixture.edges[edge_];
  if (weights.defined()) return weights * edge;
  return mixture.ops.dim() == 3 ? edge.expand({1, mixture.ops.size(2)}) : edge.unsqueeze(0);
}

void MixedOperation::add_to(WeightedSum& sum, SharedInput& x, const CellMixture* mixture,
                            const at::Tensor& mask) const {
  const std::vector<int> indices = running(mixture);
  std::vector<at::Tensor> results;
  for (const int index : indices) {
    const StageSequence& candidate = *candidates_[index];
    at::Tensor result = candidate.forward(x);
    if (mask.defined() && !candidate.is_identity()) result = result * mask;
    results.push_back(std::move(result));
  }
  const at::Tensor weights = mixture ? this->weights(*mixture, indices) : at::Tensor();
  if (weights.defined()) {
    sum.add(results, weights);
  } else {
    for (at::Tensor& result : results) sum.add(std::move(result));
  }
}

}  // namespace nascent
