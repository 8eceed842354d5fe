// One stage as a LibTorch module: its weights, its running statistics and its forward pass.
#pragma once

#include <torch/nn/module.h>

#include "space/stage.h"

namespace nascent {

class Layer : public torch::nn::Module {
 public:
  // Weights are left unset; see initialise().
  explicit Layer(const Stage& stage);

  at::Tensor forward(const at::Tensor& x) const;

  const Stage& stage() const { return stage_; }
  // True where the result depends on nothing but the input, so that equal layers can share it.
  bool is_stateless() const;

  // Undefined where the stage has none. A factorised reduce keeps both halves in one weight, split along the first
  // dimension.
  const at::Tensor& weight() const { return weight_; }
  const at::Tensor& bias() const { return bias_; }

 private:
  at::Tensor factorized_reduce(const at::Tensor& x) const;
  at::Tensor zeros(const at::Tensor& x) const;

  Stage stage_;
  at::Tensor weight_, bias_, running_mean_, running_var_;
};

}  // namespace nascent
