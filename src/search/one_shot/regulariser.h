// Regularisers of the architecture: penalties on the probabilities, added to the loss that the architecture step
// minimises. Written in options as text, a name and its strength, then what else it takes: regularisers = ["entropy
// 0.1", "parameters 1 2e6"].
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <string>
#include <vector>

#include "nascent/core/registry.h"
#include "nascent/nn/mixture.h"
#include "nascent/space/plan.h"

namespace nascent {

struct RegulariserSetup {
  const Space& space;
  const NetworkPlan& supernet;
  double strength = 1;
  std::vector<double> numbers;  // what follows the strength
};

class Regulariser {
 public:
  static std::string kind() { return "regulariser"; }
  using Registry = nascent::Registry<Regulariser, std::unique_ptr<Regulariser>(const RegulariserSetup&)>;
  virtual ~Regulariser() = default;
  // A scalar; gradients flow back to the probabilities.
  virtual at::Tensor penalty(const Mixture& probabilities) const = 0;
};

// Makes each of `specs` ("name strength ...").
std::vector<std::unique_ptr<Regulariser>> make_regularisers(const std::vector<std::string>& specs, const Space& space,
                                                            const NetworkPlan& supernet);

}  // namespace nascent
