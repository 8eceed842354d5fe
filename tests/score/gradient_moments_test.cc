// Gradients of all parameters of trained networks, image by image, against one backward pass per image.
#include "nascent/score/gradient_moments.h"

#include <gtest/gtest.h>

#include <cmath>

#include "nascent/nn/engine.h"
#include "nascent/score/engine_gradients.h"
#include "score/samples.h"

namespace nascent {
namespace {

using testing_score::Sample;

// A network that has been trained, as far as its numbers go: scales, shifts, biases and running statistics that are no
// longer those of the start.
struct Trained {
  Sample sample;
  Network network;
  TensorBatch batch;

  explicit Trained(const std::string& name, int64_t images = 6)
      : sample(name), network(sample.plan(), 1, "torch"), batch(sample.batch(images, at::kDouble)) {
    network.to(torch::kDouble);
    at::NoGradGuard no_grad;
    uint64_t seed = 1;
    for (auto& item : network.named_parameters()) {
      if (item.value().dim() == 1) item.value().add_(0.3 * noise(item.value(), ++seed));
    }
    for (auto& item : network.named_buffers()) {
      const at::Tensor moved = item.value() + 0.4 * noise(item.value(), ++seed);
      item.value().copy_(item.key().ends_with("running_var") ? moved.abs() + 0.1 : moved);
    }
    network.eval();
  }

  static at::Tensor noise(const at::Tensor& like, uint64_t seed) {
    return testing_nn::normal_tensor(like.sizes(), seed, at::kDouble);
  }

  // By parameter name: [images, numbers].
  std::map<std::string, at::Tensor> single_backward_passes() {
    std::map<std::string, std::vector<at::Tensor>> rows;
    for (int64_t i = 0; i < batch.labels.size(0); ++i) {
      const at::Tensor logits = network.forward(batch.images.narrow(0, i, 1)).logits;
      const at::Tensor loss = at::cross_entropy_loss(logits, batch.labels.narrow(0, i, 1));
      const auto named = network.named_parameters();
      std::vector<at::Tensor> parameters;
      for (const auto& item : named) parameters.push_back(item.value());
      const auto gradients = torch::autograd::grad({loss}, parameters, {}, false, false, true);
      for (size_t k = 0; k < parameters.size(); ++k) {
        const at::Tensor& g = gradients[k];
        rows[named[k].key()].push_back((g.defined() ? g : at::zeros_like(parameters[k])).reshape({-1}));
      }
    }
    std::map<std::string, at::Tensor> all;
    for (const auto& [name, list] : rows) all[name] = at::stack(list);
    return all;
  }
};

class GradientMomentsOf : public testing::TestWithParam<std::string> {};

TEST_P(GradientMomentsOf, TheTapeGivesTheLogitsOfTheTrainedNetwork) {
  Trained trained(GetParam());
  const Tape tape(trained.network);
  EXPECT_TRUE(tape.evaluates());
  const Trace trace = forward(tape, trained.batch.images);
  const at::Tensor expected = trained.network.forward(trained.batch.images).logits;
  EXPECT_LT((trace.values[tape.logits()] - expected).abs().max().item<double>(), 1e-10);
}

TEST_P(GradientMomentsOf, SampleGradientsAreThoseOfSingleBackwardPasses) {
  Trained trained(GetParam());
  const Tape tape(trained.network);
  const Trace trace = forward(tape, trained.batch.images);
  std::map<std::string, at::Tensor> found;
  for_each_sample_gradient(
      tape, trace, cross_entropy_seed(trace.values[tape.logits()], trained.batch.labels),
      [&](const ParameterPiece& piece) {
        int64_t numbers = 1;
        for (const int64_t size : piece.sizes) numbers *= size;
        const int64_t images = piece.gradients.size(0);
        at::Tensor& all = found.try_emplace(piece.parameter, at::zeros({images, numbers}, at::kDouble)).first->second;
        for (int64_t i = 0; i < images; ++i) {
          all[i].narrow(0, piece.first, piece.gradients.size(1)).add_(piece.in_order(piece.gradients[i]));
        }
      });
  size_t present = 0;
  for (const auto& [name, expected] : trained.single_backward_passes()) {
    if (!found.contains(name)) {
      EXPECT_EQ(expected.abs().max().item<double>(), 0) << name;
      continue;
    }
    ++present;
    EXPECT_LT((found[name] - expected).abs().max().item<double>(), 1e-10) << name;
  }
  EXPECT_EQ(present, found.size());
}

TEST_P(GradientMomentsOf, AddUpBatchByBatch) {
  Trained trained(GetParam(), 7);
  const Tape tape(trained.network);
  GradientMoments moments(tape);
  for (const auto& [first, count] : {std::pair{0, 3}, std::pair{3, 1}, std::pair{4, 3}}) {
    moments.add(trained.batch.images.narrow(0, first, count), trained.batch.labels.narrow(0, first, count));
  }
  EXPECT_EQ(moments.images(), 7);
  double mean_square = 0, variance = 0;
  at::Tensor norms = at::zeros({7}, at::kDouble);
  std::map<std::string, double> by_layer;
  for (const auto& [name, rows] : trained.single_backward_passes()) {
    const at::Tensor mean = rows.mean(0);
    const double own = (rows - mean).square().sum().item<double>() / 7;
    by_layer[name.substr(0, name.rfind('.'))] += own;
    variance += own;
    mean_square += rows.square().sum().item<double>() / 7;
    norms += rows.square().sum(1);
    if (!moments.mean().contains(name)) continue;
    EXPECT_LT((moments.mean().at(name).reshape({-1}) - mean).abs().max().item<double>(), 1e-10) << name;
  }
  EXPECT_NEAR(moments.total().mean_square, mean_square, 1e-10 * mean_square);
  EXPECT_NEAR(moments.total().variance, variance, 1e-10 * variance);
  for (int64_t i = 0; i < 7; ++i) EXPECT_NEAR(moments.squared_norms()[i], norms[i].item<double>(), 1e-10 * mean_square);
  for (const auto& [name, layer] : moments.layers()) EXPECT_NEAR(layer.variance, by_layer[name], 1e-10 * variance);
}

INSTANTIATE_TEST_SUITE_P(, GradientMomentsOf, testing::ValuesIn(testing_score::architectures()),
                         [](const auto& info) { return std::to_string(info.index); });

TEST(GradientMoments, OfCopiesOfOneImageDoNotVary) {
  Trained trained("darts-v2", 1);
  const Tape tape(trained.network);
  GradientMoments moments(tape);
  for (int batch = 0; batch < 2; ++batch) {
    moments.add(trained.batch.images.expand({4, -1, -1, -1}), trained.batch.labels.expand({4}));
  }
  EXPECT_GT(moments.total().mean_square, 1e-3);
  EXPECT_LT(moments.total().variance, 1e-20 * moments.total().mean_square);
}

// In the precision that networks are trained in, the variance of copies is what rounding leaves.
TEST(GradientMoments, HoldInSinglePrecision) {
  Trained trained("darts-v2");
  const Tape exact(trained.network);
  GradientMoments expected(exact);
  expected.add(trained.batch.images, trained.batch.labels);
  const double variance = expected.total().variance;
  trained.network.to(torch::kFloat);
  const Tape tape(trained.network);
  GradientMoments moments(tape);
  moments.add(trained.batch.images.to(at::kFloat), trained.batch.labels);
  EXPECT_NEAR(moments.total().variance, variance, 1e-4 * variance);
}

// The engine's own figures against those of the tape in double: whole, by layer, by image and by parameter, over
// batches that do not fill its groups of images.
TEST_P(GradientMomentsOf, TheEngineGivesWhatTheTapeGives) {
  Trained trained(GetParam(), 21);
  const Tape exact(trained.network);
  GradientMoments expected(exact);
  expected.add(trained.batch.images, trained.batch.labels);
  trained.network.to(torch::kFloat);
  const Tape tape(trained.network);
  ASSERT_TRUE(EngineGradients::can_compute(tape, trained.network));
  GradientMoments moments(tape, trained.network);
  const at::Tensor images = trained.batch.images.to(at::kFloat);
  for (const auto& [first, count] : {std::pair{0, 11}, std::pair{11, 1}, std::pair{12, 9}}) {
    moments.add(images.narrow(0, first, count), trained.batch.labels.narrow(0, first, count));
  }
  const double variance = expected.total().variance, square = expected.total().mean_square;
  EXPECT_EQ(moments.images(), 21);
  EXPECT_NEAR(moments.total().variance, variance, 1e-4 * variance);
  EXPECT_NEAR(moments.total().mean_square, square, 1e-4 * square);
  const auto layers = expected.layers(), own_layers = moments.layers();
  ASSERT_EQ(layers.size(), own_layers.size());
  for (const auto& [name, layer] : layers) {
    ASSERT_TRUE(own_layers.contains(name)) << name;
    EXPECT_NEAR(own_layers.at(name).variance, layer.variance, 1e-3 * layer.variance + 1e-6 * variance) << name;
  }
  for (int64_t i = 0; i < 21; ++i)
    EXPECT_NEAR(moments.squared_norms()[i], expected.squared_norms()[i], 1e-3 * square) << i;
  ASSERT_EQ(moments.mean().size(), expected.mean().size());
  for (const auto& [name, mean] : expected.mean()) {
    const double apart = (moments.mean().at(name) - mean).norm().item<double>();
    EXPECT_LT(apart, 1e-4 * (mean.norm().item<double>() + std::sqrt(square))) << name;
  }
}

TEST(GradientMoments, OfTheEngineAreZeroForCopiesOfOneImage) {
  Trained trained("darts-v2", 1);
  trained.network.to(torch::kFloat);
  const Tape tape(trained.network);
  GradientMoments moments(tape, trained.network);
  const at::Tensor images = trained.batch.images.to(at::kFloat);
  for (int batch = 0; batch < 2; ++batch)
    moments.add(images.expand({12, -1, -1, -1}), trained.batch.labels.expand({12}));
  EXPECT_GT(moments.total().mean_square, 1e-3);
  EXPECT_LT(moments.total().variance, 1e-11 * moments.total().mean_square);
}

// In double, by the plain operations, and where a cell has an operation that LibTorch computes, the tape does it.
TEST(GradientMoments, LeaveToTheTapeWhatTheEngineCannotDo) {
  Trained trained("darts-v2", 2);
  EXPECT_FALSE(EngineGradients::can_compute(Tape(trained.network), trained.network));
  trained.network.to(torch::kFloat);
  EXPECT_TRUE(EngineGradients::can_compute(Tape(trained.network), trained.network));
  {
    const EngineScope scope(Engine::reference);
    EXPECT_FALSE(EngineGradients::can_compute(Tape(trained.network), trained.network));
  }
  trained.network.train();
  EXPECT_FALSE(EngineGradients::can_compute(Tape(trained.network), trained.network));
  trained.network.eval();
  trained.network.parameters()[5].requires_grad_(false);
  EXPECT_FALSE(EngineGradients::can_compute(Tape(trained.network), trained.network));
}

TEST(GradientMoments, KnowTheClassifierWhereNoPathLeadsToIt) {
  Trained trained("|none~0|+|none~0|nor_conv_3x3~1|+|none~0|none~1|none~2|");
  const Tape tape(trained.network);
  GradientMoments moments(tape);
  moments.add(trained.batch.images, trained.batch.labels);
  double variance = 0;
  for (const auto& [name, rows] : trained.single_backward_passes()) {
    variance += (rows - rows.mean(0)).square().sum().item<double>() / 6;
  }
  EXPECT_NEAR(moments.total().variance, variance, 1e-10 * variance);
}

}  // namespace
}  // namespace nascent
