#include "nascent/search/one_shot/one_shot_loss.h"

#include <ATen/ATen.h>

#include "nascent/train/loss.h"

namespace nascent {

OneShotLoss::OneShotLoss(std::shared_ptr<Network> supernet, Relaxation& relaxation,
                         std::vector<std::unique_ptr<Regulariser>> regularisers, SupernetRegularisation hardening)
    : supernet_(std::move(supernet)),
      relaxation_(relaxation),
      regularisers_(std::move(regularisers)),
      hardening_(hardening),
      weights_(supernet_->parameters()) {}

OneShotLoss::Loss OneShotLoss::loss(const TensorBatch& batch, const Mixture& mixture, const SearchPlace& place) {
  const NetworkOutput output = supernet_->forward(batch.images, {.mixture = &mixture,
                                                                 .drop_path = hardening_.drop_path * place.progress(),
                                                                 .seed = place.seed,
                                                                 .step = place.step});
  const auto images = static_cast<double>(batch.labels.size(0));
  Loss result{classification_loss(output.logits, batch.labels),
              100 * static_cast<double>(count_top(output.logits.detach(), batch.labels, 1)) / images};
  if (output.auxiliary.defined() && hardening_.auxiliary_weight > 0) {
    result.value = result.value + hardening_.auxiliary_weight * classification_loss(output.auxiliary, batch.labels);
  }
  return result;
}

OneShotLoss::Loss OneShotLoss::loss(const TensorBatch& batch, const SearchPlace& place, bool regularised) {
  Loss result = loss(batch, relaxation_.mixture(place), place);
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
