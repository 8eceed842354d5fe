// Second derivatives in float on a real supernet, against those in double.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "nascent/data/image_data.h"
#include "nascent/nn/engine.h"
#include "nascent/nn/inherit.h"
#include "nascent/nn/network.h"
#include "nascent/search/one_shot/gradient.h"
#include "nascent/train/loss.h"

namespace nascent {
namespace {

double dot(const Tensors& a, const Tensors& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += (a[i].to(at::kDouble) * b[i].to(at::kDouble)).sum().item<double>();
  return sum;
}

double cosine(const Tensors& a, const Tensors& b) { return dot(a, b) / std::sqrt(dot(a, a) * dot(b, b)); }

// A supernet of NAS-Bench-201 with softmax weights, and two batches.
struct Supernet {
  explicit Supernet(at::ScalarType precision) : precision(precision) {
    DataOptions options;
    options.name = "random";
    options.size = 32;
    options.shape = {3, 8, 8};
    options.batch = 16;
    const ImageData data(options, 1);
    network = std::make_shared<Network>(
        plan_supernet(*find_space("nasbench201"), {.channels = 4, .cells = 1}, data.shape(), data.classes()), 1);
    network->to(precision);
    const auto batch = [&](const std::vector<int64_t>& indices) {
      auto loader = data.training(indices, "search");
      loader->start(0);
      TensorBatch tensors = to_tensors(*loader->next());
      tensors.images = tensors.images.to(precision);
      return tensors;
    };
    train = batch(data.split().train);
    valid = batch(data.split().valid);
    logits = (0.1 * at::arange(30, at::kDouble).sin().view({6, 5})).to(precision).requires_grad_();
  }

  at::Tensor loss(const TensorBatch& batch) const {
    Mixture mixture;
    mixture["cell"].ops = logits.softmax(-1);
    return classification_loss(network->forward(batch.images, {.mixture = &mixture}).logits, batch.labels);
  }

  BilevelLosses losses() const {
    return {[this] { return loss(train); }, [this] { return loss(valid); }, network->parameters(), {logits}};
  }

  void train_weights(int steps) {
    const Tensors weights = network->parameters();
    for (int i = 0; i < steps; ++i) {
      const Tensors gradient = dense_gradients(loss(train), weights);
      at::NoGradGuard no_grad;
      for (size_t w = 0; w < weights.size(); ++w) at::Tensor(weights[w]).sub_(gradient[w], 0.025);
    }
  }

  at::ScalarType precision;
  std::shared_ptr<Network> network;
  TensorBatch train, valid;
  at::Tensor logits;
};

class SecondOrderOnSupernets : public testing::TestWithParam<int> {};

TEST_P(SecondOrderOnSupernets, ExactInFloatIsExactInDouble) {
  const EngineScope scope(Engine::reference);
  Supernet single(at::kFloat), twice(at::kDouble);
  twice.train_weights(GetParam());
  {
    at::NoGradGuard no_grad;
    const auto from = twice.network->parameters(), to = single.network->parameters();
    for (size_t i = 0; i < from.size(); ++i) to[i].copy_(from[i]);
  }
  const UnrolledStep step{.rate = 0.025};
  const TwoTerms truth = unrolled_gradient(twice.losses(), step, Differentiation::exact);
  const TwoTerms unrolled = unrolled_gradient(single.losses(), step, Differentiation::exact);
  EXPECT_GT(cosine(unrolled.second, truth.second), 0.999);
  EXPECT_NEAR(unrolled.ratio(), truth.ratio(), 0.01 * truth.ratio());
  const Tensors amended = amended_term(twice.losses(), 0.1, Differentiation::exact);
  EXPECT_GT(cosine(amended_term(single.losses(), 0.1, Differentiation::exact), amended), 0.999);
  // Why the recipes do not take finite differences: ReLUs jump, whatever the step.
  EXPECT_LT(cosine(amended_term(single.losses(), 0.1, Differentiation::finite_darts), amended), 0.95);
}

INSTANTIATE_TEST_SUITE_P(Steps, SecondOrderOnSupernets, testing::Values(0, 60));

// Where nothing jumps, steps in proportion to the weights hold in float for weights of any size; one fixed step does
// not.
TEST(SecondProductInFloat, HoldsForWeightsOfAnySize) {
  for (const double size : {1e-4, 1e-2, 1.0, 1e2, 1e4}) {
    const auto random = [&](at::IntArrayRef shape, int64_t salt) {
      int64_t count = 1;
      for (const int64_t side : shape) count *= side;
      return (at::arange(count, at::kDouble) * 12.9898 + static_cast<double>(salt)).sin().view(shape);
    };
    const at::Tensor input = (random({16, 10}, 1) / size).to(at::kFloat);
    const at::Tensor w1 = (size * 0.3 * random({10, 12}, 2)).to(at::kFloat).requires_grad_();
    const at::Tensor w2 = (size * 0.3 * random({12, 4}, 3)).to(at::kFloat).requires_grad_();
    const at::Tensor a = random({4}, 4).to(at::kFloat).requires_grad_();
    const LossFunction loss = [&] { return (at::mm(at::mm(input, w1).tanh(), w2 / size).tanh() * a).square().sum(); };
    const Tensors v = dense_gradients(loss(), {w1, w2});
    const Tensors exact = second_product(loss, {w1, w2}, v, {a}, Differentiation::exact);
    EXPECT_GT(cosine(second_product(loss, {w1, w2}, v, {a}, Differentiation::finite), exact), 0.999) << size;
  }
}

}  // namespace
}  // namespace nascent
