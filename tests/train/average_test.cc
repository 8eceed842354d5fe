#include "nascent/train/average.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace nascent {
namespace {

struct Counted : torch::nn::Module {
  Counted() {
    weight = register_parameter("weight", at::tensor({1.0, 2.0}));
    mean = register_buffer("mean", at::tensor({4.0}));
    count = register_buffer("count", at::tensor(0, at::kLong));
  }
  void move() {
    at::NoGradGuard no_grad;
    weight.add_(1);
    mean.mul_(2);
    count.add_(1);
  }
  at::Tensor weight, mean, count;
};

const at::Tensor& named(const Weights& weights, const std::string& name) {
  for (const auto& [known, tensor] : weights) {
    if (known == name) return tensor;
  }
  throw std::out_of_range(name);
}

TEST(WeightAverage, FollowsItsFormula) {
  Counted network;
  WeightAverage average(network, 0.9);
  for (int i = 0; i < 2; ++i) {
    network.move();
    average.update();
  }
  // 1 -> 0.9 * 1 + 0.1 * 2 = 1.1 -> 0.9 * 1.1 + 0.1 * 3 = 1.29; 4 -> 0.9 * 4 + 0.1 * 8 = 4.4 -> 5.56
  EXPECT_NEAR(named(average.weights(), "weight")[0].item<double>(), 1.29, 1e-6);
  EXPECT_NEAR(named(average.weights(), "mean")[0].item<double>(), 5.56, 1e-6);
  EXPECT_EQ(named(average.weights(), "count").item<int64_t>(), 2);
}

TEST(WeightAverage, IsShownAndTakenBackExactly) {
  Counted network;
  WeightAverage average(network, 0.3);
  network.move();
  average.update();
  const auto weight = network.weight.detach().clone();
  const auto averaged = named(average.weights(), "weight").clone();
  {
    const WeightAverage::Shown shown(average);
    EXPECT_TRUE(network.weight.equal(averaged));
  }
  EXPECT_TRUE(network.weight.equal(weight));
  EXPECT_TRUE(named(average.weights(), "weight").equal(averaged));
  EXPECT_TRUE(network.weight.requires_grad());
}

}  // namespace
}  // namespace nascent
