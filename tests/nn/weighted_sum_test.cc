#include "nascent/nn/weighted_sum.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "nn/samples.h"

namespace nascent {
namespace {

using testing_nn::normal_tensor;

struct Terms {
  std::vector<at::Tensor> values;
  at::Tensor weights;

  std::vector<at::Tensor> leaves() const {
    std::vector<at::Tensor> all = values;
    all.push_back(weights);
    return all;
  }
};

Terms make_terms(bool channels_last) {
  Terms terms;
  for (uint64_t i = 0; i < 3; ++i) {
    at::Tensor value = normal_tensor({2, 5, 4, 3}, i, at::kDouble);
    if (channels_last) value = value.contiguous(at::MemoryFormat::ChannelsLast);
    terms.values.push_back(value.requires_grad_(true));
  }
  terms.weights = normal_tensor({3}, 9, at::kDouble).requires_grad_(true);
  return terms;
}

at::Tensor plain(const Terms& t) {
  return t.values[0] * t.weights[0] + t.values[1] * t.weights[1] + t.values[2] * t.weights[2];
}

at::Tensor loss_of(const at::Tensor& y) { return (y * y * y).sum() + y.exp().sum(); }

double distance(const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b) {
  double worst = 0;
  for (size_t i = 0; i < a.size(); ++i) worst = std::max(worst, (a[i] - b[i]).abs().max().item<double>());
  return worst;
}

TEST(WeightedSum, EqualsThePlainExpressionToTheSecondDerivative) {
  for (const bool channels_last : {false, true}) {
    const Terms terms = make_terms(channels_last);
    const auto leaves = terms.leaves();
    const at::Tensor fast = weighted_sum(terms.values, terms.weights), slow = plain(terms);
    EXPECT_LT((fast - slow).abs().max().item<double>(), 1e-12);
    const auto first = torch::autograd::grad({loss_of(fast)}, leaves, {}, true, true);
    const auto expected = torch::autograd::grad({loss_of(slow)}, leaves, {}, true, true);
    EXPECT_LT(distance(first, expected), 1e-9);
    const auto inner = [&](const std::vector<at::Tensor>& grads) {
      at::Tensor sum = at::zeros({}, at::kDouble);
      for (const at::Tensor& grad : grads) sum = sum + (grad * grad).sum();
      return sum;
    };
    const auto second = torch::autograd::grad({inner(first)}, leaves);
    const auto expected_second = torch::autograd::grad({inner(expected)}, leaves);
    EXPECT_LT(distance(second, expected_second) / inner(expected).item<double>(), 1e-9);
  }
}

TEST(WeightedSum, AddsWeightedAndPlainTerms) {
  const Terms terms = make_terms(false);
  WeightedSum sum;
  sum.add(terms.values[2]);
  sum.add({terms.values[0]}, terms.weights.slice(0, 0, 1));
  sum.add({terms.values[1]}, terms.weights.slice(0, 1, 2));
  const at::Tensor expected = terms.values[0] * terms.weights[0] + terms.values[1] * terms.weights[1] + terms.values[2];
  const at::Tensor got = sum.result({2, 5, 4, 3}, terms.values[0]);
  EXPECT_LT((got - expected).abs().max().item<double>(), 1e-12);
}

TEST(WeightedSum, OfNothingIsZeroAndItsWeightsHaveAGradientOfZero) {
  at::Tensor weights = at::ones({2}).requires_grad_(true);
  WeightedSum sum;
  sum.add({}, weights);
  const at::Tensor zeros = sum.result({1, 2, 3, 4}, at::ones({1, 1, 1, 1}));
  EXPECT_EQ(zeros.sizes(), at::IntArrayRef({1, 2, 3, 4}));
  zeros.sum().backward();
  ASSERT_TRUE(weights.grad().defined());
  EXPECT_EQ(weights.grad().abs().max().item<float>(), 0);
}

TEST(WeightedSum, SkipsGradientsNobodyAskedFor) {
  Terms terms = make_terms(false);
  terms.weights.requires_grad_(false);
  weighted_sum(terms.values, terms.weights).sum().backward();
  EXPECT_FALSE(terms.weights.grad().defined());
  EXPECT_TRUE(terms.values[0].grad().defined());
}

}  // namespace
}  // namespace nascent
