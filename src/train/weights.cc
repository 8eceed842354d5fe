#include "nascent/train/weights.h"

#include <ATen/core/grad_mode.h>

namespace nascent {

Weights weights_of(const torch::nn::Module& module) {
  Weights all;
  for (const auto& item : module.named_parameters()) all.emplace_back(item.key(), item.value());
  for (const auto& item : module.named_buffers()) {
    if (item.value().defined()) all.emplace_back(item.key(), item.value());
  }
  return all;
}

Weights copy_of(const Weights& weights) {
  Weights copy;
  for (const auto& [name, tensor] : weights) copy.emplace_back(name, tensor.detach().clone());
  return copy;
}

void assign(const Weights& from, const Weights& to) {
  TORCH_INTERNAL_ASSERT(from.size() == to.size(), "weights of the same network");
  at::NoGradGuard no_grad;
  for (size_t i = 0; i < from.size(); ++i) at::Tensor(to[i].second).copy_(from[i].second);
}

void save_weights(const Weights& weights, State& state, const std::string& prefix) {
  for (const auto& [name, tensor] : weights) state.put(prefix + name, tensor);
}

void load_weights(const Weights& weights, const State& state, const std::string& prefix) {
  for (const auto& [name, tensor] : weights) state.copy_into(prefix + name, tensor);
}

}  // namespace nascent
