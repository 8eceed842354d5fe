#include "nascent/search/one_shot/one_shot_loss.h"

#include <ATen/ATen.h>

#include "nascent/train/loss.h"

namespace nascent {

OneShotLoss::OneShotLoss(std::shared_ptr<Network> supernet, Relaxation& relaxation,
                         std::vector<std::unique_ptr<Regulariser>> regularisers)
    : supernet_(std::move(supernet)),
      relaxation_(relaxation),
      regularisers_(std::move(regularisers)),
      weights_(supernet_->parameters()) {}

OneShotLoss::Loss OneShotLoss::loss(const TensorBatch& batch, const Mixture& mixture) {
  const at::Tensor logits = supernet_->forward(batch.images, {.mixture = &mixture}).logits;
  const auto images = static_cast<double>(batch.labels.size(0));
  return {classification_loss(logits, batch.labels),
          100 * static_cast<double>(count_top(logits.detach(), batch.labels, 1)) / images};
}

OneShotLoss::Loss OneShotLoss::loss(const TensorBatch& batch, const SearchPlace& place, bool regularised) {
  Loss result = loss(batch, relaxation_.mixture(place));
  if (regularised && !regularisers_.empty()) result.value = result.value + penalty(place);
  return result;
}

at::Tensor OneShotLoss::penalty(const SearchPlace& place) const {
  at::Tensor sum = at::zeros({});
  if (regularisers_.empty()) return sum;
  const Mixture probabilities = relaxation_.probabilities(place);
  for (const auto& regulariser : regularisers_) sum = sum + regulariser->penalty(probabilities);
  return sum;
}

}  // namespace nascent
