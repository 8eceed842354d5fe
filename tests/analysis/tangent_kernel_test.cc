// Tangent kernels that are known in closed form.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "nascent/analysis/linear_cells.h"
#include "nascent/core/random.h"
#include "nascent/score/probe.h"

namespace nascent {
namespace {

at::Tensor normal_rows(int64_t rows, int64_t columns) {
  RandomStream random(1, "rows");
  at::Tensor numbers = at::empty({rows, columns}, at::kDouble);
  for (int64_t i = 0; i < rows * columns; ++i) numbers.data_ptr<double>()[i] = random.normal();
  return numbers;
}

TEST(Theorem74, TheKernelOfTheWideLinearNetworkIsLnTimesTheIdentity) {
  const int n = 8, layers = 5;
  const Network network =
      standard_network(vector_network(n, std::vector<Stages>(layers, {stage::conv(n, n, 1)}), n), 1);
  const TangentKernel kernel = tangent_kernel(network, orthonormal_images(6, n, 3));
  EXPECT_TRUE(at::allclose(kernel.hidden, at::eye(6, at::kDouble) * layers * n, 1e-10, 1e-10));
}

TEST(Theorem74, TheKernelOfTheDeepLinearNetworkIsSoInExpectationOnly) {
  const int n = 4, layers = 3, networks = 3000;
  const at::Tensor x = orthonormal_images(3, n, 3);
  at::Tensor mean = at::zeros({3, 3}, at::kDouble);
  const NetworkPlan plan = vector_network(n, {Stages(layers, stage::conv(n, n, 1))}, n);
  int unequal = 0;
  for (int seed = 0; seed < networks; ++seed) {
    const at::Tensor kernel = tangent_kernel(standard_network(plan, static_cast<uint64_t>(seed)), x).hidden;
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
  const at::Tensor x = normal_rows(4, inputs);
  at::Tensor first, last;
  for (const auto& item : network.named_parameters()) {
    if (item.value().dim() == 4) first = item.value().detach().view({width, inputs});
    if (item.key() == "head.0.weight") last = item.value().detach();
  }
  const at::Tensor h = at::mm(x, first.t()), on = (h > 0).to(at::kDouble) * last;
  const TangentKernel kernel = tangent_kernel(network, x.view({4, inputs, 1, 1}));
  EXPECT_TRUE(at::allclose(kernel.head, at::mm(h.relu(), h.relu().t())));
  EXPECT_TRUE(at::allclose(kernel.hidden, at::mm(on, on.t()) * at::mm(x, x.t())));
}

TEST(TwoLayers, TheKernelOfAWideNetworkIsTheArcCosineKernel) {
  const int inputs = 3, width = 20000;
  const Network network(vector_network(inputs, {{stage::conv(inputs, width, 1), stage::relu(width)}}, width), 2,
                        "lecun");
  const at::Tensor x = at::tensor({1.0f, 0.0f, 0.0f, 0.6f, 0.8f, 0.0f}).view({2, inputs, 1, 1});
  const TangentKernel kernel = tangent_kernel(network, x);
  const double angle = std::acos(0.6), pi = std::numbers::pi;
  EXPECT_NEAR(kernel.hidden[0][1].item<double>(), 0.6 * (pi - angle) / (2 * pi), 0.01);
  EXPECT_NEAR(kernel.hidden[0][0].item<double>(), 0.5, 0.02);
  // In standard parameterisation the last layer's part grows with the width.
  const double arc = (std::sin(angle) + (pi - angle) * 0.6) / (2 * pi) / inputs;
  EXPECT_NEAR(kernel.head[0][1].item<double>() / width, arc, 0.03 * arc);
}

}  // namespace
}  // namespace nascent
