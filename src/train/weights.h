// The tensors that make a network what it is: its parameters and buffers, by name.
#pragma once

#include <torch/nn/module.h>

#include <string>
#include <utility>
#include <vector>

#include "nascent/train/state.h"

namespace nascent {

using Weights = std::vector<std::pair<std::string, at::Tensor>>;

// The module's own tensors, not copies.
Weights weights_of(const torch::nn::Module& module);
Weights copy_of(const Weights& weights);
// Copies tensor by tensor; both lists stem from the same network.
void assign(const Weights& from, const Weights& to);

void save_weights(const Weights& weights, State& state, const std::string& prefix);
void load_weights(const Weights& weights, const State& state, const std::string& prefix);

}  // namespace nascent
