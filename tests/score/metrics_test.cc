// Every metric against a brute-force implementation: autograd, one backward pass per image, an explicit Hessian.
#include <gtest/gtest.h>

#include <cmath>

#include "nascent/score/curvature.h"
#include "nascent/score/linear_regions.h"
#include "nascent/score/probe.h"
#include "score/samples.h"

namespace nascent {
namespace {

using testing_score::autograd_values;
using testing_score::counted_weights;
using testing_score::flat;
using testing_score::flat_gradient;
using testing_score::Sample;

double score(const std::string& metric, Probe& probe) { return Metric::Registry::instance().make(metric, probe); }

void expect_near(double found, double expected, double relative) {
  EXPECT_NEAR(found, expected, relative * std::max(1e-12, std::abs(expected)));
}

// A probe in double precision, and the same network for autograd.
struct Bench {
  Sample sample;
  TensorBatch batch;
  Network network;
  Tape tape;
  Trace trace;
  std::vector<at::Tensor> weights;

  explicit Bench(const std::string& name, int64_t images = 6, int channels = 3)
      : sample(name, channels), batch(sample.batch(images, at::kDouble)), network(make(sample)), tape(network) {
    trace = forward(tape, batch.images);
    for (const Step& step : tape.steps()) {
      if (step.weight.defined() && step.live) weights.push_back(step.weight);
    }
  }

  static Network make(const Sample& sample) {
    Network network(sample.plan(), 1, "lecun");
    network.to(torch::kDouble);
    return network;
  }

  at::Tensor logits() const { return autograd_values(tape, batch.images)[tape.logits()]; }
  at::Tensor frozen_logits(int64_t image) const {
    return autograd_values(tape, batch.images.narrow(0, image, 1), &trace.norms)[tape.logits()];
  }
  at::Tensor loss() const { return at::cross_entropy_loss(logits(), batch.labels); }
  std::vector<at::Tensor> output_gradients(const at::Tensor& seed, Statistics statistics) const {
    std::vector<at::Tensor> gradients(tape.steps().size());
    backward(tape, trace, seed, statistics, [&](size_t i, const at::Tensor& g) { gradients[i] = g; });
    return gradients;
  }
  at::Tensor own_logits() const { return trace.values[tape.logits()]; }
};

class MetricsOf : public testing::TestWithParam<std::string> {};

TEST_P(MetricsOf, LossGradientsAgreeWithAutograd) {
  const Bench b(GetParam());
  const auto expected = torch::autograd::grad({b.loss()}, b.weights);
  size_t k = b.weights.size();
  backward(b.tape, b.trace, cross_entropy_seed(b.own_logits(), b.batch.labels) / 6.0, Statistics::coupled,
           [&](size_t i, const at::Tensor& gradient) {
             const Step& step = b.tape.steps()[i];
             const at::Tensor found = weight_gradient(step, b.trace.values[step.in[0]], gradient);
             EXPECT_TRUE(at::allclose(found, expected[--k], 1e-6, 1e-9)) << i;
           });
  EXPECT_EQ(k, 0u);
}

TEST_P(MetricsOf, TangentKernelAgreesWithOneBackwardPassPerImage) {
  const Bench b(GetParam());
  std::vector<at::Tensor> rows;
  for (int64_t i = 0; i < 6; ++i) {
    rows.push_back(flat_gradient(b.frozen_logits(i)[0][b.batch.labels[i].item<int64_t>()], b.weights));
  }
  const at::Tensor jacobian = at::stack(rows), expected = at::mm(jacobian, jacobian.t());
  // In the precision that scores are taken in.
  Probe probe(b.sample.source(), b.sample.genotype, {}, b.sample.batch(6));
  const double size = expected.diagonal().abs().max().item<double>();
  EXPECT_LT((probe.ntk() - expected).abs().max().item<double>(), 2e-4 * size);
  expect_near(score("trace", probe), std::sqrt(expected.trace().item<double>() / 6), 1e-4);
  expect_near(score("knas", probe), expected.mean().item<double>(), 1e-3);
}

TEST_P(MetricsOf, CoupledTangentKernelAgreesWithTrainingMode) {
  const Bench b(GetParam());
  const at::Tensor logits = b.logits();
  std::vector<at::Tensor> rows;
  for (int64_t i = 0; i < 6; ++i) {
    rows.push_back(flat_gradient(logits[i][b.batch.labels[i].item<int64_t>()], b.weights));
  }
  const at::Tensor jacobian = at::stack(rows), expected = at::mm(jacobian, jacobian.t());
  Probe probe(b.sample.source(), b.sample.genotype, {.ntk = KernelGradients::coupled}, b.sample.batch(6));
  EXPECT_LT((probe.ntk() - expected).abs().max().item<double>(), 1e-3 * expected.diagonal().max().item<double>());
}

// Each image's share in the gradient of the sum of all true logits, through the statistics of the batch.
TEST_P(MetricsOf, SummedTangentKernelIsTheSumsGradientTakenApart) {
  const Bench b(GetParam());
  const auto values = autograd_values(b.tape, b.batch.images);
  const at::Tensor sum = values[b.tape.logits()].gather(1, b.batch.labels.unsqueeze(1)).sum();
  at::Tensor jacobian = at::empty({6, 0}, at::kDouble);
  for (const Step& step : b.tape.steps()) {
    if (!step.weight.defined() || !step.live) continue;
    const at::Tensor gradient = torch::autograd::grad({sum}, {values[step.out]}, {}, true)[0];
    std::vector<at::Tensor> rows;
    for (int64_t i = 0; i < 6; ++i) {
      const at::Tensor x = values[step.in[0]].detach().narrow(0, i, 1);
      rows.push_back(weight_gradient(step, x, gradient.narrow(0, i, 1)).reshape({-1}));
    }
    jacobian = at::cat({jacobian, at::stack(rows)}, 1);
  }
  const at::Tensor expected = at::mm(jacobian, jacobian.t());
  Probe probe(b.sample.source(), b.sample.genotype, {.ntk = KernelGradients::summed}, b.sample.batch(6));
  EXPECT_LT((probe.ntk() - expected).abs().max().item<double>(), 1e-3 * expected.diagonal().max().item<double>());
}

TEST_P(MetricsOf, GradientMetricsAgreeWithAutograd) {
  Bench b(GetParam());
  // All counted weights, dead ones too, as a user would write it.
  const auto weights = counted_weights(b.network);
  b.network.train();
  const at::Tensor loss = at::cross_entropy_loss(b.network.forward(b.batch.images).logits, b.batch.labels);
  const auto gradients = torch::autograd::grad({loss}, weights, {}, true, false, true);
  double norms = 0, squares = 0, absolute = 0, product = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    if (!gradients[i].defined()) continue;
    squares += gradients[i].square().sum().item<double>();
    norms += gradients[i].norm().item<double>();
    absolute += (weights[i] * gradients[i]).abs().sum().item<double>();
    product += (weights[i] * gradients[i]).sum().item<double>();
  }
  Probe probe(b.sample.source(), b.sample.genotype, {}, b.sample.batch(6));
  // In DARTS networks the two halves of a factorised reduce, one tensor here, count as two layers.
  if (b.sample.space->skeleton() != "darts") expect_near(score("grad", probe), norms, 1e-4);
  expect_near(score("grad-thesis", probe), std::sqrt(squares), 1e-4);
  expect_near(score("snip", probe), absolute, 1e-4);
  EXPECT_NEAR(score("snip-thesis", probe), std::abs(product), 1e-4 * absolute);
  expect_near(score("trace-batch", probe), 6 * squares, 2e-4);
}

TEST_P(MetricsOf, GraspAgreesWithDoubleBackward) {
  Bench b(GetParam());
  const at::Tensor gradient = flat_gradient(b.loss(), b.weights, /*create_graph=*/true);
  const at::Tensor product = flat_gradient((gradient * gradient.detach()).sum(), b.weights);
  const double expected = -flat(b.weights).dot(product).item<double>();
  Probe probe(b.sample.source(), b.sample.genotype, {}, b.sample.batch(6));
  expect_near(score("grasp", probe), expected, 2e-3);
}

TEST_P(MetricsOf, ThesisGraspAgreesWithOneHessianPerImage) {
  Bench b(GetParam());
  double expected = 0;
  for (int64_t i = 0; i < 6; ++i) {
    const at::Tensor loss = at::cross_entropy_loss(b.frozen_logits(i), b.batch.labels.narrow(0, i, 1));
    const at::Tensor gradient = flat_gradient(loss, b.weights, /*create_graph=*/true);
    const at::Tensor product = flat_gradient((gradient * gradient.detach()).sum(), b.weights);
    expected += flat(b.weights).dot(product).item<double>() / 6;
  }
  Probe probe(b.sample.source(), b.sample.genotype, {}, b.sample.batch(6));
  expect_near(score("grasp-thesis", probe), std::abs(expected), 2e-3);
}

TEST_P(MetricsOf, FisherAgreesWithAutograd) {
  const Bench b(GetParam());
  const auto values = autograd_values(b.tape, b.batch.images);
  const at::Tensor loss = at::cross_entropy_loss(values[b.tape.logits()], b.batch.labels);
  double channels = 0, weights = 0;
  for (const Step& step : b.tape.steps()) {
    if (!step.weight.defined() || !step.live) continue;
    const at::Tensor gradient = torch::autograd::grad({loss}, {values[step.out]}, {}, true)[0];
    at::Tensor sum = values[step.out] * gradient;
    if (sum.dim() == 4) sum = sum.sum({2, 3});
    const at::Tensor own = 0.5 * sum.square().mean(0);
    channels += own.sum().item<double>();
    // As published: a value for every weight, which is its output channel's.
    std::vector<int64_t> shape(step.weight.dim(), 1);
    shape[0] = own.numel();
    weights += own.view(shape).expand(step.weight.sizes()).sum().item<double>();
  }
  Probe probe(b.sample.source(), b.sample.genotype, {}, b.sample.batch(6));
  expect_near(score("fisher-channels", probe), channels, 1e-3);
  expect_near(score("fisher", probe), weights, 1e-3);
}

// The published program, in double precision and on the network itself: standard normal weights, two batches in
// training mode, the running variances that they leave. Its features are a network whose head ends before the pooling.
TEST_P(MetricsOf, ZenAgreesWithThePublishedProgram) {
  const Bench b(GetParam());
  NetworkPlan plan = b.sample.plan();
  while (plan.head.back().kind != StageKind::global_avg_pool) plan.head.pop_back();
  plan.head.pop_back();
  Network network(plan, 1, "standard-normal");
  network.to(torch::kDouble);
  network.train();
  at::NoGradGuard no_grad;
  const at::Tensor images = normal_images(plan.input, 6, 1, "zen images").to(at::kDouble),
                   other = normal_images(plan.input, 6, 1, "zen directions").to(at::kDouble);
  const at::Tensor change = network.forward(images).logits - network.forward(images + 0.01 * other).logits;
  double expected = std::log(change.abs().sum({1, 2, 3}).mean().item<double>());
  for (const auto& item : network.named_buffers()) {
    if (item.key().ends_with("running_var")) expected += std::log(item.value().mean().sqrt().item<double>());
  }
  Probe probe(b.sample.source(), b.sample.genotype, {}, b.sample.batch(6));
  expect_near(score("zen", probe), expected, 1e-3);
}

TEST_P(MetricsOf, ThesisNaswotTakesWhatReLUsRead) {
  const Bench b(GetParam());
  const auto values = autograd_values(b.tape, b.batch.images);
  at::Tensor kernel = at::zeros({6, 6}, at::kDouble);
  for (size_t s = 0; s < b.tape.steps().size(); ++s) {
    const Step& step = b.tape.steps()[s];
    if (step.kind != StepKind::relu) continue;
    const at::Tensor rows = values[step.in[0]].detach().flatten(1);
    kernel += b.tape.copies(s) * at::mm(rows, rows.t());
  }
  const double expected = std::get<1>(at::linalg_slogdet(kernel)).item<double>();
  Probe probe(b.sample.source(), b.sample.genotype, {}, b.sample.batch(6));
  expect_near(score("naswot-thesis", probe), expected, 1e-3);
}

TEST_P(MetricsOf, JacobianCovarianceAgreesWithAutograd) {
  Bench b(GetParam());
  const at::Tensor images = b.batch.images.clone().requires_grad_();
  b.network.train();
  const at::Tensor rows = torch::autograd::grad({b.network.forward(images).logits.sum()}, {images})[0].flatten(1);
  const at::Tensor matrix = at::corrcoef(rows);
  const auto eigenvalues = std::get<0>(at::linalg_eigh(matrix));
  const double expected = -((eigenvalues + 1e-5).log() + 1 / (eigenvalues + 1e-5)).sum().item<double>();
  Probe probe(b.sample.source(), b.sample.genotype, {}, b.sample.batch(6));
  expect_near(score("jacob-cov", probe), expected, 1e-2);
}

TEST_P(MetricsOf, NaswotCountsAgreeingUnits) {
  const Bench b(GetParam());
  at::Tensor kernel = at::full({6, 6}, static_cast<double>(b.tape.idle_units()), at::kDouble);
  for (size_t s = 0; s < b.tape.steps().size(); ++s) {
    if (b.tape.steps()[s].kind != StepKind::relu) continue;
    const at::Tensor bits = (b.trace.values[b.tape.steps()[s].out] > 0).flatten(1);
    for (int64_t i = 0; i < 6; ++i) {
      for (int64_t j = 0; j < 6; ++j) {
        kernel[i][j] += b.tape.copies(s) * (bits[i] == bits[j]).sum().item<int64_t>();
      }
    }
  }
  const double expected = std::get<1>(at::linalg_slogdet(kernel)).item<double>();
  Probe probe(b.sample.source(), b.sample.genotype, {}, b.sample.batch(6));
  expect_near(score("naswot", probe), expected, 1e-2);
}

TEST_P(MetricsOf, SynflowAgreesWithAutograd) {
  Bench b(GetParam());
  const Tape tape = b.tape.absolute();
  std::vector<at::Tensor> weights;
  for (const Step& step : tape.steps()) {
    if (step.weight.defined() && step.live) weights.push_back(at::Tensor(step.weight).requires_grad_());
  }
  const at::Tensor flow =
      autograd_values(tape, at::ones({1, 3, b.sample.input.height, b.sample.input.width}, at::kDouble))[tape.logits()];
  const auto gradients = torch::autograd::grad({flow.sum()}, weights);
  double expected = 0;
  for (size_t i = 0; i < weights.size(); ++i) expected += (weights[i] * gradients[i]).abs().sum().item<double>();
  Probe probe(b.sample.source(), b.sample.genotype, {}, b.sample.batch(6));
  expect_near(score("synflow", probe), std::log(expected), 1e-6);
}

TEST_P(MetricsOf, TraceNormBoundsItsApproximations) {
  const Bench b(GetParam());
  double norm = 0, sum = 0;
  for (int64_t i = 0; i < 6; ++i) {
    const at::Tensor logits = b.frozen_logits(i);
    for (int64_t k = 0; k < 4; ++k) norm += flat_gradient(logits[0][k], b.weights).square().sum().item<double>();
    const at::Tensor loss = at::cross_entropy_loss(b.frozen_logits(i), b.batch.labels.narrow(0, i, 1));
    sum += flat_gradient(loss, b.weights).square().sum().item<double>();
  }
  Probe probe(b.sample.source(), b.sample.genotype, {}, b.sample.batch(6));
  expect_near(score("trace-norm", probe), norm, 1e-4);
  expect_near(score("trace-sum", probe), sum, 1e-4);
  // Eq. 6.6, with the Lipschitz constant sqrt(2) of the cross-entropy.
  EXPECT_GE(2 * norm, sum);
}

INSTANTIATE_TEST_SUITE_P(, MetricsOf, testing::ValuesIn(testing_score::architectures()),
                         [](const auto& info) { return std::to_string(info.index); });

TEST(Metrics, GraspAgreesWithAnExplicitHessian) {
  Bench b("|nor_conv_1x1~0|+|none~0|skip_connect~1|+|nor_conv_3x3~0|none~1|avg_pool_3x3~2|", 4, 1);
  const at::Tensor gradient = flat_gradient(b.loss(), b.weights, /*create_graph=*/true);
  const int64_t count = gradient.numel();
  at::Tensor hessian = at::empty({count, count}, at::kDouble);
  for (int64_t i = 0; i < count; ++i) hessian[i].copy_(flat_gradient(gradient[i], b.weights));
  EXPECT_TRUE(at::allclose(hessian, hessian.t(), 1e-6, 1e-8));
  const at::Tensor w = flat(b.weights);
  const double expected = -w.dot(at::mv(hessian, gradient.detach())).item<double>();
  Probe probe(b.sample.source(), b.sample.genotype, {}, b.sample.batch(4));
  expect_near(score("grasp", probe), expected, 2e-3);
}

TEST(Metrics, OfAnArchitectureWithoutAPathAreDefined) {
  const Sample sample("|none~0|+|none~0|nor_conv_3x3~1|+|none~0|none~1|none~2|");
  Probe probe(sample.source(), sample.genotype, {}, sample.batch(4));
  for (const std::string name : {"grad", "snip", "grasp", "fisher", "trace", "knas"}) EXPECT_EQ(score(name, probe), 0);
  EXPECT_EQ(score("kappa", probe), std::numeric_limits<double>::infinity());
  EXPECT_GT(score("params", probe), 0);
}

TEST(Metrics, CountRegionsBetweenOneAndTheNumberOfImages) {
  for (const std::string& name : testing_score::architectures()) {
    const Sample sample(name);
    Probe probe(sample.source(), sample.genotype, {}, sample.batch(4));
    const double regions = score("regions", probe);
    EXPECT_GT(regions, 1) << name;
    EXPECT_LE(regions, 1000) << name;
    EXPECT_TRUE(std::isfinite(score("zen", probe))) << name;
  }
}

}  // namespace
}  // namespace nascent
