// One stage as a LibTorch module: its weights, its running statistics and its forward pass.
#pragma once

#include <torch/nn/module.h>

#include "nascent/nn/layer_rule.h"
#include "nascent/space/stage.h"

namespace nascent {

// Of every batch norm: how much a batch moves the running statistics, and what is added to the variance.
constexpr double kNormMomentum = 0.1, kNormEpsilon = 1e-5;

class Layer : public torch::nn::Module {
 public:
  // Weights are left unset; see initialise().
  explicit Layer(const Stage& stage);

  at::Tensor forward(const at::Tensor& x) const;

  const Stage& stage() const { return stage_; }
  // True where the result depends on nothing but the input, so that equal layers can share it.
  bool is_stateless() const;
  bool is_norm() const;

  // Undefined where the stage has none. A factorised reduce keeps both halves in one weight, split along the first
  // dimension.
  const at::Tensor& weight() const { return weight_; }
  const at::Tensor& bias() const { return bias_; }
  // Of a batch norm.
  const at::Tensor& running_mean() const { return running_mean_; }
  const at::Tensor& running_var() const { return running_var_; }

 private:
  Stage stage_;
  const LayerRule::Registry::Entry* rule_;
  at::Tensor weight_, bias_, running_mean_, running_var_;
};

}  // namespace nascent
