#include "nascent/nn/initialiser.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>
#include <map>
#include <string>

#include "nascent/core/error.h"
#include "nascent/nn/stage_sequence.h"
#include "nn/samples.h"

namespace nascent {
namespace {

std::map<std::string, at::Tensor> weights_of(const Stages& stages, const std::string& initialiser, uint64_t seed = 1) {
  StageSequence sequence(stages);
  initialise(sequence, seed, initialiser);
  std::map<std::string, at::Tensor> all;
  for (const auto& item : sequence.named_parameters()) all[item.key()] = item.value().detach();
  return all;
}

double deviation(const at::Tensor& x) { return x.std().item<double>(); }

TEST(Initialiser, HasTheMomentsOfItsLaw) {
  const Stages stages = {stage::conv(64, 96, 3), stage::linear(96, 300)};
  const double fan_in = 64 * 9, fan_out = 96 * 9;
  const std::map<std::string, double> expected = {{"torch", 1 / std::sqrt(3 * fan_in)},
                                                  {"he", std::sqrt(2 / fan_in)},
                                                  {"xavier", std::sqrt(2 / (fan_in + fan_out))},
                                                  {"lecun", std::sqrt(1 / fan_in)}};
  for (const auto& [name, value] : expected) {
    const auto weights = weights_of(stages, name);
    EXPECT_NEAR(deviation(weights.at("0.weight")) / value, 1, 0.02) << name;
    EXPECT_NEAR(weights.at("0.weight").mean().item<double>() / value, 0, 0.02) << name;
    EXPECT_EQ(weights.at("1.bias").abs().max().item<float>() > 0, name == "torch") << name;
  }
}

TEST(Initialiser, TorchStaysWithinLibTorchsBounds) {
  const auto weights = weights_of({stage::conv(16, 32, 3), stage::depthwise(32, 5, 1), stage::linear(50, 40)}, "torch");
  const std::map<std::string, double> bounds = {
      {"0.weight", 1 / std::sqrt(144.0)}, {"1.weight", 1.0 / 5}, {"2.weight", 1 / std::sqrt(50.0)}};
  for (const auto& [name, bound] : bounds) {
    const double largest = weights.at(name).abs().max().item<double>();
    EXPECT_LE(largest, bound);
    EXPECT_GT(largest, 0.98 * bound);
  }
  EXPECT_LE(weights.at("2.bias").abs().max().item<double>(), 1 / std::sqrt(50.0));
}

TEST(Initialiser, BatchNormsStartAtOneAndZero) {
  for (const std::string& name : Initialiser::Registry::instance().names()) {
    const auto weights = weights_of({stage::batch_norm(7)}, name);
    EXPECT_TRUE(at::equal(weights.at("0.weight"), at::ones({7})));
    EXPECT_TRUE(at::equal(weights.at("0.bias"), at::zeros({7})));
  }
}

TEST(Initialiser, DependsOnSeedAndNameOnly) {
  const Stage conv = stage::conv(8, 8, 3);
  const auto once = weights_of({conv, conv}, "he", 5), again = weights_of({conv, conv}, "he", 5);
  EXPECT_TRUE(at::equal(once.at("0.weight"), again.at("0.weight")));
  EXPECT_FALSE(at::equal(once.at("0.weight"), once.at("1.weight")));
  EXPECT_FALSE(at::equal(once.at("0.weight"), weights_of({conv}, "he", 6).at("0.weight")));
  EXPECT_TRUE(at::equal(once.at("1.weight"), weights_of({stage::relu(8), conv}, "he", 5).at("1.weight")));
}

TEST(Initialiser, LeavesLibTorchsGeneratorAlone) {
  torch::manual_seed(4);
  const at::Tensor expected = at::rand({3});
  torch::manual_seed(4);
  weights_of({stage::conv(8, 8, 3), stage::linear(8, 8)}, "torch");
  EXPECT_TRUE(at::equal(at::rand({3}), expected));
}

TEST(Initialiser, AnUnknownNameListsTheKnownOnes) {
  try {
    weights_of({stage::conv(8, 8, 3)}, "lecunn");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("he, he-fan-out, lecun, standard-normal, torch, xavier"),
              std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace nascent
