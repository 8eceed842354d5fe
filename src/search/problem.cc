#include "search/problem.h"

#include <ATen/ATen.h>

#include "train/loss.h"

namespace nascent {

SearchProblem::SearchProblem(std::shared_ptr<Network> supernet, Relaxation& relaxation,
                             std::vector<std::unique_ptr<Regulariser>> regularisers)
    : supernet_(std::move(supernet)),
      relaxation_(relaxation),
      regularisers_(std::move(regularisers)),
      weights_(supernet_->parameters()) {}

SearchProblem::Loss SearchProblem::loss(const TensorBatch& batch, const Mixture& mixture) {
  const at::Tensor logits = supernet_->forward(batch.images, {.mixture = &mixture}).logits;
  const auto images = static_cast<double>(batch.labels.size(0));
  return {classification_loss(logits, batch.labels),
          100 * static_cast<double>(count_top(logits.detach(), batch.labels, 1)) / images};
}

SearchProblem::Loss SearchProblem::loss(const TensorBatch& batch, const SearchPlace& place, bool regularised) {
  Loss result = loss(batch, relaxation_.mixture(place));
  if (regularised && !regularisers_.empty()) result.value = result.value + penalty(place);
  return result;
}

at::Tensor SearchProblem::penalty(const SearchPlace& place) const {
  at::Tensor sum = at::zeros({});
  if (regularisers_.empty()) return sum;
  const Mixture probabilities = relaxation_.probabilities(place);
  for (const auto& regulariser : regularisers_) sum = sum + regulariser->penalty(probabilities);
  return sum;
}

}  // namespace nascent
