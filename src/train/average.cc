#include "nascent/train/average.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/_foreach_mul.h>

namespace nascent {

WeightAverage::WeightAverage(const torch::nn::Module& network, double decay)
    : network_(weights_of(network)), average_(copy_of(network_)), decay_(decay) {}

void WeightAverage::update() {
  at::NoGradGuard no_grad;
  std::vector<at::Tensor> averages, weights;
  for (size_t i = 0; i < network_.size(); ++i) {
    const at::Tensor& weight = network_[i].second;
    if (!weight.is_floating_point()) {
      average_[i].second.copy_(weight);
      continue;
    }
    averages.push_back(average_[i].second);
    weights.push_back(weight);
  }
  if (averages.empty()) return;
  at::_foreach_mul_(averages, decay_);
  at::_foreach_add_(averages, weights, 1 - decay_);
}

void WeightAverage::swap() {
  const Weights weights = copy_of(network_);
  assign(average_, network_);
  assign(weights, average_);
}

void WeightAverage::save(State& state, const std::string& prefix) const { save_weights(average_, state, prefix); }
void WeightAverage::load(const State& state, const std::string& prefix) { load_weights(average_, state, prefix); }

}  // namespace nascent
