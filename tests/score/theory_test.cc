// Tangent kernels that are known in closed form.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "nascent/score/probe.h"
#include "nascent/score/sample_gradients.h"
#include "nascent/space/cell_plan.h"
#include "score/samples.h"

namespace nascent {
namespace {

// A network of vectors: images of one pixel.
NetworkPlan vector_network(int inputs, const std::vector<Stages>& branches, int features) {
  NetworkPlan plan{.space = "theory", .skeleton = "theory", .input = {inputs, 1, 1}, .classes = 1};
  plan.cells = {plan_fixed_block(plan.input, branches, false)};
  plan.head = {stage::linear(features, 1)};
  return plan;
}

struct Kernel {
  at::Tensor hidden, head;  // of the convolutions' weights, and of the last layer's
};

Kernel kernel_of(const Network& network, const at::Tensor& x) {
  const Tape tape(network);
  const Trace trace = forward(tape, x);
  Kernel kernel{at::zeros({x.size(0), x.size(0)}, at::kDouble), at::zeros({x.size(0), x.size(0)}, at::kDouble)};
  const auto visit = [&](size_t i, const at::Tensor& gradient) {
    const Step& step = tape.steps()[i];
    add_gram(step, trace.values[step.in[0]], gradient, step.kind == StepKind::conv ? kernel.hidden : kernel.head);
  };
  backward(tape, trace, at::ones({x.size(0), 1}, x.options()), Statistics::constant, visit);
  return kernel;
}

// Standard normal weights, and a last layer of ones.
Network standard_network(const NetworkPlan& plan, uint64_t seed) {
  Network network(plan, seed, "lecun");
  network.to(torch::kDouble);
  torch::NoGradGuard no_grad;
  for (const auto& item : network.named_parameters()) {
    if (item.value().dim() == 4) item.value().mul_(std::sqrt(static_cast<double>(item.value().size(1))));
    if (item.key() == "head.0.weight") item.value().fill_(1);
  }
  return network;
}

at::Tensor orthonormal(int64_t count, int64_t size) {
  const at::Tensor q = std::get<0>(at::linalg_qr(testing_score::normal_tensor({size, size}, 3, at::kDouble)));
  return q.narrow(0, 0, count).reshape({count, size, 1, 1});
}

TEST(Theorem74, TheKernelOfTheWideLinearNetworkIsLnTimesTheIdentity) {
  const int n = 8, layers = 5;
  const Network network =
      standard_network(vector_network(n, std::vector<Stages>(layers, {stage::conv(n, n, 1)}), n), 1);
  const Kernel kernel = kernel_of(network, orthonormal(6, n));
  EXPECT_TRUE(at::allclose(kernel.hidden, at::eye(6, at::kDouble) * layers * n, 1e-10, 1e-10));
}

TEST(Theorem74, TheKernelOfTheDeepLinearNetworkIsSoInExpectationOnly) {
  const int n = 4, layers = 3, networks = 3000;
  const at::Tensor x = orthonormal(3, n);
  at::Tensor mean = at::zeros({3, 3}, at::kDouble);
  const NetworkPlan plan = vector_network(n, {Stages(layers, stage::conv(n, n, 1))}, n);
  int unequal = 0;
  for (int seed = 0; seed < networks; ++seed) {
    const at::Tensor kernel = kernel_of(standard_network(plan, static_cast<uint64_t>(seed)), x).hidden;
    mean += kernel / networks;
    const auto eigenvalues = symmetric_eigenvalues(kernel);
    unequal += eigenvalues.back() > 1.01 * eigenvalues.front() ? 1 : 0;
  }
  const double expected = layers * std::pow(n, layers);
  EXPECT_TRUE(at::allclose(mean, at::eye(3, at::kDouble) * expected, 0, 0.1 * expected)) << mean;
  EXPECT_EQ(unequal, networks);
}

TEST(TwoLayers, TheKernelIsThatOfTheFormulaForTheseWeights) {
  const int inputs = 5, width = 7;
  Network network(vector_network(inputs, {{stage::conv(inputs, width, 1), stage::relu(width)}}, width), 2, "lecun");
  network.to(torch::kDouble);
  const at::Tensor x = testing_score::normal_tensor({4, inputs}, 1, at::kDouble);
  at::Tensor first, last;
  for (const auto& item : network.named_parameters()) {
    if (item.value().dim() == 4) first = item.value().detach().view({width, inputs});
    if (item.key() == "head.0.weight") last = item.value().detach();
  }
  const at::Tensor h = at::mm(x, first.t()), on = (h > 0).to(at::kDouble) * last;
  const Kernel kernel = kernel_of(network, x.view({4, inputs, 1, 1}));
  EXPECT_TRUE(at::allclose(kernel.head, at::mm(h.relu(), h.relu().t())));
  EXPECT_TRUE(at::allclose(kernel.hidden, at::mm(on, on.t()) * at::mm(x, x.t())));
}

TEST(TwoLayers, TheKernelOfAWideNetworkIsTheArcCosineKernel) {
  const int inputs = 3, width = 20000;
  const Network network(vector_network(inputs, {{stage::conv(inputs, width, 1), stage::relu(width)}}, width), 2,
                        "lecun");
  const at::Tensor x = at::tensor({1.0f, 0.0f, 0.0f, 0.6f, 0.8f, 0.0f}).view({2, inputs, 1, 1});
  const Kernel kernel = kernel_of(network, x);
  const double angle = std::acos(0.6), pi = std::numbers::pi;
  EXPECT_NEAR(kernel.hidden[0][1].item<double>(), 0.6 * (pi - angle) / (2 * pi), 0.01);
  EXPECT_NEAR(kernel.hidden[0][0].item<double>(), 0.5, 0.02);
  // In standard parameterisation the last layer's part grows with the width.
  const double arc = (std::sin(angle) + (pi - angle) * 0.6) / (2 * pi) / inputs;
  EXPECT_NEAR(kernel.head[0][1].item<double>() / width, arc, 0.03 * arc);
}

}  // namespace
}  // namespace nascent
