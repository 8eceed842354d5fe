#include "nascent/search/one_shot/one_shot_loss.h"

#include <ATen/ATen.h>

#include "nascent/train/loss.h"

namespace nascent {

OneShotLoss::OneShotLoss(std::shared_ptr<Network> supernet, Relaxation& relaxation,
                         std::vector<std::unique_ptr<Regulariser>> regularisers, SupernetRegularisation hardening,
                         Sharding sharding)
    : supernet_(std::move(supernet)),
      relaxation_(relaxation),
      regularisers_(std::move(regularisers)),
      hardening_(hardening),
      sharding_(sharding),
      shards_(sharding.shards, *supernet_),
      weights_(supernet_->parameters()) {}

OneShotLoss::Loss OneShotLoss::loss(const TensorBatch& batch, const Mixture& mixture, const SearchPlace& place,
                                    const Shard& shard) {
  const TensorBatch part = shard.of(batch);
  const NetworkOutput output = supernet_->forward(part.images, {.mixture = &mixture,
                                                                .drop_path = hardening_.drop_path * place.progress(),
                                                                .seed = shard.own(place.seed),
                                                                .step = place.step});
  const auto images = static_cast<double>(part.labels.size(0));
  Loss result{classification_loss(output.logits, part.labels),
              100 * static_cast<double>(count_top(output.logits.detach(), part.labels, 1)) / images};
  if (output.auxiliary.defined() && hardening_.auxiliary_weight > 0) {
    result.value = result.value + hardening_.auxiliary_weight * classification_loss(output.auxiliary, part.labels);
  }
  return result;
}

SearchPlace OneShotLoss::place_of(const Shard& shard, const SearchPlace& place) const {
  SearchPlace own = place;
  if (sharding_.sample_per_shard) own.shard = shard.index;
  return own;
}

OneShotLoss::Loss OneShotLoss::loss(const TensorBatch& batch, const SearchPlace& place, const Shard& shard,
                                    bool regularised) {
  Loss result = loss(batch, relaxation_.mixture(place_of(shard, place)), place, shard);
  if (regularised && !regularisers_.empty()) result.value = result.value + penalty(place);
  return result;
}

OneShotLoss::Scored OneShotLoss::mean(const std::function<Scored(const Shard&)>& of) {
  Tensors all = shards_.mean([&](const Shard& shard) {
    Scored scored = of(shard);
    scored.tensors.push_back(at::scalar_tensor(scored.loss, at::kDouble));
    scored.tensors.push_back(at::scalar_tensor(scored.top1, at::kDouble));
    return std::move(scored.tensors);
  });
  const double top1 = all.back().item<double>(), loss = all[all.size() - 2].item<double>();
  all.resize(all.size() - 2);
  return {std::move(all), loss, top1};
}

OneShotLoss::Scored OneShotLoss::gradients(const TensorBatch& batch, const SearchPlace& place, const Tensors& inputs,
                                           bool regularised) {
  return mean([&](const Shard& shard) -> Scored {
    const Loss part = loss(batch, place, shard, regularised);
    return {nascent::gradients(part.value, inputs), part.value.item<double>(), part.top1};
  });
}

at::Tensor OneShotLoss::penalty(const SearchPlace& place) const {
  at::Tensor sum = at::zeros({});
  if (regularisers_.empty()) return sum;
  const Mixture probabilities = relaxation_.probabilities(place);
  for (const auto& regulariser : regularisers_) sum = sum + regulariser->penalty(probabilities);
  return sum;
}

}  // namespace nascent
