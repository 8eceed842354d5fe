// Partial channels (PC-DARTS): what passes through the candidates, what passes by, and how they are shuffled.
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "nascent/nn/inherit.h"
#include "nascent/nn/mixed_operation.h"
#include "nascent/nn/network.h"
#include "nascent/space/cell_plan.h"
#include "nn/multiply_adds.h"
#include "nn/samples.h"

namespace nascent {
namespace {

using namespace testing_nn;

constexpr Shape kImage{3, 12, 12};

NetworkPlan partial_supernet(const Space& space, int partial, Shape image = kImage) {
  NetworkOptions options = small_options(space);
  options.channels = 8;
  options.partial = partial;
  return plan_supernet(space, options, image, 5);
}

CellMixture mixture_of(std::vector<double> ops, double edge) {
  CellMixture mixture;
  mixture.ops = at::tensor(ops, at::kDouble).unsqueeze(0).requires_grad_(true);
  mixture.edges = at::tensor({edge}, at::kDouble).requires_grad_(true);
  return mixture;
}

at::Tensor run(const MixedOperation& operation, const at::Tensor& x, const CellMixture& mixture) {
  WeightedSum sum;
  SharedInput input(x);
  operation.add_to(sum, input, &mixture, {});
  return sum.result(x.sizes(), x);
}

// Six channels of one pixel, a third of them mixed: identity with weight 2 and zeros with weight 5.
TEST(PartialChannels, ByHand) {
  EdgePlan edge{.ops = {"skip_connect", "none"}, .candidates = {{}, {stage::zero(2, 2, 1)}}, .site = 0, .edge = 0};
  edge.partial = 3;
  const MixedOperation operation(edge);
  const at::Tensor x = at::tensor({1., 2., 3., 4., 5., 6.}, at::kDouble).view({1, 6, 1, 1});
  CellMixture mixture = mixture_of({2, 5}, 10);
  // Joined: 2 4 | 3 4 | 5 6; shuffled with three groups: 2 3 5 4 4 6; times the edge's 10.
  const at::Tensor y = run(operation, x, mixture);
  EXPECT_TRUE(at::equal(y.flatten(), at::tensor({20., 30., 50., 40., 40., 60.}, at::kDouble))) << y;
  y.sum().backward();
  EXPECT_TRUE(at::equal(mixture.ops.grad()[0], at::tensor({30., 0.}, at::kDouble))) << mixture.ops.grad();
  EXPECT_EQ(mixture.edges.grad().item<double>(), 24);
}

TEST(PartialChannels, AnIdleEdgeLetsNothingPass) {
  EdgePlan edge{.ops = {"skip_connect", "none"}, .candidates = {{}, {stage::zero(2, 2, 1)}}, .site = 0, .edge = 0};
  edge.partial = 2;
  const MixedOperation operation(edge);
  const at::Tensor x = at::ones({1, 4, 1, 1}, at::kDouble);
  CellMixture mixture = mixture_of({0.5, 0.5}, 1);
  mixture.active = {{}};
  EXPECT_EQ(run(operation, x, mixture).abs().max().item<double>(), 0);
  mixture.active = {{1}};  // `none` was chosen: half of the channels are zero, the others pass
  EXPECT_EQ(run(operation, x, mixture).sum().item<double>(), 2);
}

// The shuffle is that of PyTorch's reference: view, transpose, view.
TEST(PartialChannels, ShuffleAsInPyTorch) {
  for (const auto format : {at::MemoryFormat::Contiguous, at::MemoryFormat::ChannelsLast}) {
    EdgePlan edge{.ops = {"skip_connect"}, .candidates = {{}}};
    edge.partial = 4;
    const MixedOperation operation(edge);
    const at::Tensor x = normal_tensor({2, 12, 3, 5}, 3).contiguous(format);
    const at::Tensor expected = x.contiguous().view({2, 4, 3, 3, 5}).transpose(1, 2).reshape({2, 12, 3, 5});
    const at::Tensor y = run(operation, x, {});
    EXPECT_TRUE(at::equal(y, expected));
    EXPECT_TRUE(y.is_contiguous(format));
  }
}

TEST(PartialChannels, PassByWithAPoolAtStride2) {
  const auto space = find_space("darts");
  for (const Shape image : {Shape{3, 12, 12}, Shape{3, 9, 7}}) {
    const NetworkPlan plan = partial_supernet(*space, 4, image);
    const CellPlan& reduction = plan.cells[1];
    ASSERT_TRUE(reduction.reduction);
    const EdgePlan& first = reduction.nodes[0].edges[0];
    ASSERT_EQ(first.bypass.size(), 1u);
    EXPECT_EQ(first.bypass[0].kind, StageKind::max_pool);
    EXPECT_EQ(first.bypass[0].in, 12);
    EXPECT_EQ(first.candidates[4].back().out, 4);
    EXPECT_TRUE(reduction.nodes[1].edges[2].bypass.empty());
    EXPECT_EQ(reduction.output_shape, (Shape{64, (image.height + 1) / 2, (image.width + 1) / 2}));
  }
}

TEST(PartialChannels, EverySpaceRunsAsPlanned) {
  for (const std::string& name : spaces_with_supernet()) {
    const auto space = find_space(name);
    const NetworkPlan plan = partial_supernet(*space, 4);
    EXPECT_LT(count_parameters(plan), count_parameters(partial_supernet(*space, 1))) << name;
    Network network(plan, 1);
    int64_t built = 0;
    for (const at::Tensor& parameter : network.parameters()) built += parameter.numel();
    EXPECT_EQ(built, count_parameters(plan)) << name;
    Mixture mixture = uniform_mixture(*space);
    MultiplyAddCounter counter;
    network.forward(sample_images(kImage, 2), {.mixture = &mixture});
    EXPECT_EQ(counter.total(), 2 * count_multiply_adds(plan)) << name;
  }
}

TEST(PartialChannels, WithOneHotWeightsEqualTheDerivedNetwork) {
  for (const std::string& name : spaces_with_supernet()) {
    const auto space = find_space(name);
    // A genotype may take an input twice, but the supernet lets it pass by once.
    const auto& cells = space->cells();
    if (std::any_of(cells.begin(), cells.end(), [](const CellChoices& cell) { return cell.repeat_inputs; })) continue;
    RandomStream random(8, "test");
    const Genotype genotype = space->sample(random);
    const Mixture mixture = one_hot_mixture(*space, genotype), active = only_active(mixture);
    Network supernet(partial_supernet(*space, 2), 1);
    supernet.to(at::kDouble);
    Network derived(derive_plan(supernet.plan(), genotype), 2);
    derived.to(at::kDouble);
    EXPECT_TRUE(copy_weights(supernet, derived).empty()) << name;
    const at::Tensor images = sample_images(kImage, 4, 1, at::kDouble);
    at::NoGradGuard no_grad;
    const at::Tensor expected = derived.forward(images).logits;
    for (const Mixture* weights : {&mixture, &active}) {
      const at::Tensor full = supernet.forward(images, {.mixture = weights}).logits;
      EXPECT_LT((full - expected).abs().max().item<double>(), 1e-6) << name;
    }
  }
}

// First and second derivatives, against finite differences.
TEST(PartialChannels, DerivativesEqualFiniteDifferences) {
  const auto space = find_space("nasbench201");
  Network network(partial_supernet(*space, 4), 1);
  network.to(at::kDouble);
  Mixture mixture = uniform_mixture(*space, at::kDouble);
  const at::Tensor images = sample_images(kImage, 4, 1, at::kDouble);
  const auto loss = [&] {
    return at::log_softmax(network.forward(images, {.mixture = &mixture}).logits, 1).select(1, 2).mean().neg();
  };
  const at::Tensor &ops = mixture["cell"].ops, &edges = mixture["cell"].edges;
  const at::Tensor direction = normal_tensor(edges.sizes(), 4, at::kDouble);
  const auto grads = torch::autograd::grad({loss()}, {ops, edges}, {}, true, true);
  const at::Tensor slope = (grads[1] * direction).sum();
  const at::Tensor second = torch::autograd::grad({slope}, {ops})[0];
  const auto shifted = [&](double step) {
    {
      torch::NoGradGuard no_grad;
      at::Tensor(edges).add_(direction, step);
    }
    const at::Tensor value = loss();
    return std::make_pair(value.item<double>(), torch::autograd::grad({value}, {ops})[0]);
  };
  constexpr double kStep = 1e-6;
  const auto up = shifted(kStep), down = shifted(-2 * kStep);
  EXPECT_NEAR((up.first - down.first) / (2 * kStep), slope.item<double>(), 1e-5 * std::abs(slope.item<double>()));
  const at::Tensor measured = (up.second - down.second) / (2 * kStep);
  EXPECT_LT((measured - second).abs().max().item<double>(), 1e-4 * second.abs().max().item<double>());
}

}  // namespace
}  // namespace nascent
