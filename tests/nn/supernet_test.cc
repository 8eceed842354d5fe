// Supernets of every space under mixtures of every kind.
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <algorithm>

#include "nascent/core/error.h"
#include "nascent/nn/engine.h"
#include "nascent/nn/inherit.h"
#include "nascent/nn/network.h"
#include "nascent/nn/threads.h"
#include "nn/multiply_adds.h"
#include "nn/samples.h"

namespace nascent {
namespace {

using namespace testing_nn;

constexpr Shape kSupernetImage{3, 12, 12};

NetworkPlan small_supernet(const Space& space) { return plan_supernet(space, small_options(space), kSupernetImage, 5); }

at::Tensor loss_of(Network& network, const Mixture& mixture) {
  const at::Tensor logits = network.forward(sample_images(kSupernetImage, 4), {.mixture = &mixture}).logits;
  return at::log_softmax(logits, 1).select(1, 2).mean().neg();
}

void expect_finite(const at::Tensor& gradient, const std::string& name) {
  ASSERT_TRUE(gradient.defined()) << name;
  EXPECT_TRUE(gradient.isfinite().all().item<bool>()) << name;
}

class EverySupernet : public testing::TestWithParam<std::string> {
 protected:
  std::shared_ptr<const Space> space_ = find_space(GetParam());
};

INSTANTIATE_TEST_SUITE_P(Spaces, EverySupernet, testing::ValuesIn(spaces_with_supernet()), [](const auto& info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

TEST_P(EverySupernet, RunsForwardAndBackwardWithUniformWeights) {
  Network network(small_supernet(*space_), 1);
  EXPECT_TRUE(network.is_mixed());
  Mixture mixture = uniform_mixture(*space_);
  loss_of(network, mixture).backward();
  for (const auto& item : network.named_parameters()) expect_finite(item.value().grad(), item.key());
  for (const auto& [type, cell] : mixture) {
    expect_finite(cell.ops.grad(), type);
    EXPECT_GT(cell.ops.grad().abs().max().item<double>(), 0) << type;
    if (network.plan().skeleton == "nasbench101") expect_finite(cell.edges.grad(), type);
  }
}

at::Tensor as_one(const std::vector<at::Tensor>& tensors) {
  std::vector<at::Tensor> parts;
  for (const at::Tensor& tensor : tensors) {
    if (tensor.defined()) parts.push_back(tensor.reshape({-1}));
  }
  return at::cat(parts);
}

double apart(const at::Tensor& a, const at::Tensor& b) {
  return ((a.to(at::kDouble) - b.to(at::kDouble)).norm() / b.to(at::kDouble).norm()).item<double>();
}

// The gradient of the loss by weights and mixture, with and without a graph of its own, and that of its squared norm.
struct Slopes {
  at::Tensor once, again, of_norm;

  Slopes(const Space& space, at::ScalarType precision) {
    Network network(small_supernet(space), 1);
    network.to(precision);
    Mixture mixture = uniform_mixture(space);
    std::vector<at::Tensor> wanted = network.parameters();
    for (auto& [type, cell] : mixture) {
      for (at::Tensor* weights : {&cell.ops, &cell.edges}) {
        if (weights->defined()) *weights = weights->detach().to(precision).requires_grad_();
      }
      wanted.push_back(cell.ops);
    }
    const auto gradients = [&](bool graph) {
      const at::Tensor logits =
          network.forward(sample_images(kSupernetImage, 4).to(precision), {.mixture = &mixture}).logits;
      return as_one(torch::autograd::grad({at::log_softmax(logits, 1).select(1, 2).mean()}, wanted, {}, graph, graph,
                                          /*allow_unused=*/true));
    };
    once = gradients(false);
    const at::Tensor kept = gradients(true);
    again = kept.detach();
    of_norm = as_one(torch::autograd::grad({kept.square().sum()}, wanted, {}, false, false, /*allow_unused=*/true));
  }
};

// Cells take what cells before them made, of weights that they share: gradients that are kept to be differentiated
// again must count each way once, and so must what is then differentiated. What rounding does to the plain operations
// is granted to the fused ones three times over.
TEST(Supernet, GradientsThatAreDifferentiatedAgainAreTheSame) {
  for (const std::string name : {"darts-s1", "nasbench201", "nasbench1shot1-s1"}) {
    const auto space = find_space(name);
    const Slopes fused(*space, at::kFloat), exact(*space, at::kDouble);
    const EngineScope scope(Engine::reference);
    const Slopes plain(*space, at::kFloat);
    EXPECT_LT(apart(fused.again, fused.once), 1e-3) << name;
    EXPECT_LT(apart(fused.of_norm, exact.of_norm), 3 * apart(plain.of_norm, exact.of_norm) + 1e-3) << name;
  }
}

// More threads than images, and many more than cores.
TEST(Supernet, ManyThreadsGiveWhatOneGivesAndTheSameBytesAgain) {
  const int before = at::get_num_threads();
  for (const std::string name : {"darts", "nasbench201"}) {
    const auto space = find_space(name);
    const auto gradients = [&](int threads) {
      use_threads(threads);
      Network network(small_supernet(*space), 1);
      Mixture mixture = uniform_mixture(*space);
      std::vector<at::Tensor> wanted = network.parameters();
      for (const auto& [type, cell] : mixture) wanted.push_back(cell.ops);
      return as_one(torch::autograd::grad({loss_of(network, mixture)}, wanted, {}, {}, false, /*allow_unused=*/true));
    };
    const at::Tensor truth = gradients(1);
    for (const int threads : {3, 5, 16, 64}) {
      const at::Tensor first = gradients(threads);
      EXPECT_LT(apart(first, truth), 1e-4) << name << ", " << threads << " threads";
      EXPECT_TRUE(at::equal(gradients(threads), first)) << name << ", " << threads << " threads";
    }
  }
  use_threads(before);
}

TEST_P(EverySupernet, HasTheParametersOfItsPlan) {
  const NetworkPlan plan = small_supernet(*space_);
  Network network(plan, 1);
  int64_t built = 0;
  for (const at::Tensor& parameter : network.parameters()) built += parameter.numel();
  EXPECT_EQ(built, count_parameters(plan));
  Mixture mixture = uniform_mixture(*space_);
  MultiplyAddCounter counter;
  network.forward(sample_images(kSupernetImage, 2), {.mixture = &mixture});
  EXPECT_EQ(counter.total(), 2 * count_multiply_adds(plan));
}

TEST_P(EverySupernet, WithOneHotWeightsEqualsTheDerivedNetwork) {
  RandomStream random(5, "test");
  const Genotype genotype = space_->sample(random);
  const Mixture mixture = one_hot_mixture(*space_, genotype), active = only_active(mixture);
  Network supernet(small_supernet(*space_), 1);
  supernet.to(at::kDouble);
  Network derived(derive_plan(supernet.plan(), genotype), 2);
  derived.to(at::kDouble);
  EXPECT_FALSE(derived.is_mixed());
  const at::Tensor images = sample_images(kSupernetImage, 4, 1, at::kDouble);
  at::NoGradGuard no_grad;
  for (const bool training : {true, false}) {  // the first pass moves the running statistics that the second one reads
    EXPECT_TRUE(copy_weights(supernet, derived).empty());
    supernet.train(training);
    derived.train(training);
    const at::Tensor expected = derived.forward(images).logits;
    const at::Tensor full = supernet.forward(images, {.mixture = &mixture}).logits;
    EXPECT_LT((full - expected).abs().max().item<double>(), 1e-6) << training;
  }
  supernet.eval();
  MultiplyAddCounter counter;
  const at::Tensor sparse = supernet.forward(images, {.mixture = &active}).logits;
  EXPECT_LT(counter.total(), 4 * count_multiply_adds(supernet.plan()));
  EXPECT_LT((sparse - derived.forward(images).logits).abs().max().item<double>(), 1e-6);
}

TEST_P(EverySupernet, WithoutAMixtureIsAnError) {
  Network network(small_supernet(*space_), 1);
  EXPECT_THROW(network.forward(sample_images(kSupernetImage, 2)), Error);
  const Mixture empty;
  EXPECT_THROW(network.forward(sample_images(kSupernetImage, 2), {.mixture = &empty}), Error);
}

TEST(Supernet, CandidatesLeftOutAreNeitherRunNorDifferentiated) {
  const auto space = find_space("nasbench201");
  Network network(small_supernet(*space), 1);
  Mixture mixture = uniform_mixture(*space);
  mixture["cell"].active.assign(6, {1, 3});  // skip_connect, nor_conv_3x3
  loss_of(network, mixture).backward();
  for (const auto& item : network.named_parameters()) {
    const bool left_out = item.key().find("nor_conv_1x1") != std::string::npos;
    EXPECT_EQ(item.value().grad().defined(), !left_out) << item.key();
  }
  const at::Tensor grad = mixture["cell"].ops.grad();
  EXPECT_EQ(grad.index_select(1, at::tensor({0, 2, 4})).abs().max().item<float>(), 0);
  EXPECT_GT(grad.select(1, 3).abs().min().item<float>(), 0);
}

TEST(Supernet, NoneCostsNothingAndHasAGradientOfZero) {
  const auto space = find_space("nasbench201");
  Network network(small_supernet(*space), 1);
  Mixture mixture = uniform_mixture(*space);
  loss_of(network, mixture).backward();
  EXPECT_EQ(mixture["cell"].ops.grad().select(1, 0).abs().max().item<float>(), 0);
  Mixture nothing = uniform_mixture(*space);
  nothing["cell"].active.assign(6, {0});
  loss_of(network, nothing).backward();
  ASSERT_TRUE(nothing["cell"].ops.grad().defined());
  EXPECT_EQ(nothing["cell"].ops.grad().abs().max().item<float>(), 0);
  Mixture idle = uniform_mixture(*space);
  idle["cell"].active.assign(6, {});
  loss_of(network, idle).backward();
  EXPECT_TRUE(idle["cell"].ops.grad().defined());
}

TEST(Supernet, EdgeWeightsScaleEdges) {
  const auto space = find_space("nasbench201");
  Network network(small_supernet(*space), 1);
  at::NoGradGuard no_grad;
  Mixture unweighted = uniform_mixture(*space), folded = uniform_mixture(*space), weighted = uniform_mixture(*space);
  unweighted["cell"].edges = at::Tensor();
  const at::Tensor edges = at::linspace(0.2, 1.2, 6);
  weighted["cell"].edges = edges;
  folded["cell"].edges = at::Tensor();
  folded["cell"].ops = folded["cell"].ops * edges.unsqueeze(1);
  EXPECT_TRUE(at::allclose(loss_of(network, weighted), loss_of(network, folded)));
  EXPECT_FALSE(at::allclose(loss_of(network, weighted), loss_of(network, unweighted)));
}

TEST(Supernet, DoubleBackwardEqualsFiniteDifferences) {
  const auto space = find_space("nasbench201");
  Network network(small_supernet(*space), 1);
  network.to(at::kDouble);
  Mixture mixture = uniform_mixture(*space, at::kDouble);
  at::Tensor& ops = mixture["cell"].ops;
  const at::Tensor images = sample_images(kSupernetImage, 4, 1, at::kDouble);
  const auto loss = [&] {
    return at::log_softmax(network.forward(images, {.mixture = &mixture}).logits, 1).select(1, 2).mean().neg();
  };
  const auto weights = network.parameters();
  std::vector<at::Tensor> direction;
  for (size_t i = 0; i < weights.size(); ++i) direction.push_back(normal_tensor(weights[i].sizes(), i, at::kDouble));
  const auto grads = torch::autograd::grad({loss()}, weights, {}, true, true);
  at::Tensor slope = at::zeros({}, at::kDouble);
  for (size_t i = 0; i < grads.size(); ++i) slope = slope + (grads[i] * direction[i]).sum();
  const at::Tensor exact = torch::autograd::grad({slope}, {ops})[0];
  const auto shifted = [&](double step) {
    torch::NoGradGuard no_grad;
    for (size_t i = 0; i < weights.size(); ++i) weights[i].add_(direction[i], step);
    at::AutoGradMode with_grad(true);
    return torch::autograd::grad({loss()}, {ops})[0];
  };
  constexpr double kStep = 1e-6;
  const at::Tensor up = shifted(kStep), down = shifted(-2 * kStep);
  const at::Tensor measured = (up - down) / (2 * kStep);
  EXPECT_LT((measured - exact).abs().max().item<double>(), 1e-4 * exact.abs().max().item<double>());
}

}  // namespace
}  // namespace nascent
