// Which choices raise a reward: ridge regression of the rewards of random samples on the gradients of the logarithms of
// their probabilities. Its coefficients are the natural gradient of the expected reward (Kakade 2001, with the sampled
// Fisher matrix). At a uniform distribution that is, choice by choice, a multiple of the plain gradient, but the
// mean of reward times score also carries what the other choices of the same samples did.
//
//   RewardRegression regression(scores.numel());
//   regression.observe(scores, reward);
//   regression.coefficients();
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

#include "nascent/train/state.h"

namespace nascent {

class RewardRegression {
 public:
  explicit RewardRegression(int64_t features = 0);

  void observe(const at::Tensor& features, double reward);
  at::Tensor coefficients() const;  // float; zero where nothing was observed

  void save(State& state, const std::string& name) const { state.put(name, products_); }
  void load(const State& state, const std::string& name) { state.copy_into(name, products_); }

 private:
  at::Tensor products_;  // sums of the products of (1, features, reward) with one another, double
};

}  // namespace nascent
