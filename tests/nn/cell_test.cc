#include "nascent/nn/cell.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "nascent/core/error.h"
#include "nascent/nn/initialiser.h"
#include "nascent/space/cell_plan.h"
#include "nn/samples.h"

namespace nascent {
namespace {

using testing_nn::normal_tensor;
using testing_nn::sample_images;
using testing_nn::uniform_mixture;

// One input of one pixel and one channel; one node that sums the given branches.
CellPlan pixel_cell(const std::vector<Stages>& branches) {
  CellPlan plan = plan_fixed_block({1, 1, 1}, branches, false);
  plan.type = "normal";
  return plan;
}

std::shared_ptr<Cell> unit_cell(const std::vector<Stages>& branches) {
  auto cell = std::make_shared<Cell>(pixel_cell(branches));
  at::NoGradGuard no_grad;
  for (at::Tensor& parameter : cell->parameters()) parameter.fill_(1);
  return cell;
}

const Stages kConv = {stage::conv(1, 1, 1)};

TEST(DropPath, DropsImagesWithTheGivenProbabilityAndKeepsTheMean) {
  const auto cell = unit_cell({kConv});
  const at::Tensor ones = at::ones({20000, 1, 1, 1});
  const at::Tensor y = cell->forward({ones}, {.drop_path = 0.3, .seed = 1});
  const at::Tensor kept = y > 0;
  EXPECT_NEAR(kept.to(at::kDouble).mean().item<double>(), 0.7, 0.01);
  EXPECT_NEAR(y.max().item<double>(), 1 / 0.7, 1e-6);
  EXPECT_NEAR(y.mean().item<double>(), 1, 0.02);
}

TEST(DropPath, LeavesIdentitiesAndFixedBlocksAlone) {
  const at::Tensor ones = at::ones({100, 1, 1, 1});
  const CellContext context{.drop_path = 0.5, .seed = 1};
  EXPECT_TRUE(at::equal(unit_cell({{}})->forward({ones}, context), ones));
  auto fixed = std::make_shared<Cell>(plan_fixed_block({1, 1, 1}, {kConv}, false));
  fixed->parameters()[0].detach().fill_(1);
  EXPECT_TRUE(at::equal(fixed->forward({ones}, context), ones));
}

TEST(DropPath, DependsOnSeedStepCellAndEdge) {
  const auto one = unit_cell({kConv}), two = unit_cell({kConv, kConv});
  const at::Tensor ones = at::ones({200, 1, 1, 1});
  const auto run = [&](Cell& cell, uint64_t seed, uint64_t step, uint64_t index) {
    return cell.forward({ones}, {.drop_path = 0.5, .seed = seed, .step = step, .cell = index});
  };
  const at::Tensor base = run(*one, 1, 2, 3);
  EXPECT_TRUE(at::equal(base, run(*one, 1, 2, 3)));
  EXPECT_FALSE(at::equal(base, run(*one, 2, 2, 3)));
  EXPECT_FALSE(at::equal(base, run(*one, 1, 3, 3)));
  EXPECT_FALSE(at::equal(base, run(*one, 1, 2, 4)));
  // Both edges dropped, one, or none: 0, 2 and 4, never only 0 and 4.
  EXPECT_TRUE((run(*two, 1, 2, 3) == 2).any().item<bool>());
}

// A normal and a reduction cell of the DARTS supernet in double precision.
struct Gradients {
  std::shared_ptr<const Space> space = find_space("darts");
  std::shared_ptr<Cell> cell;
  Mixture mixture;
  std::vector<at::Tensor> inputs, leaves;

  explicit Gradients(bool reduction) {
    mixture = uniform_mixture(*space, at::kDouble);
    const CellSite site{.inputs = {{4, 6, 5}, {4, 6, 5}},
                        .channels = 3,
                        .reduction = reduction,
                        .affine = true,
                        .pool_norm = true,
                        .project_always = true};
    cell = std::make_shared<Cell>(plan_cell(*space, nullptr, type(reduction), site));
    initialise(*cell, 7, "he");
    cell->to(at::kDouble);
    for (uint64_t i = 0; i < 2; ++i) {
      inputs.push_back(normal_tensor({3, 4, 6, 5}, 20 + i, at::kDouble).requires_grad_(true));
    }
    leaves = cell->parameters();
    leaves.insert(leaves.end(), inputs.begin(), inputs.end());
    leaves.push_back(mixture[type(reduction)].ops);
    leaves.push_back(mixture[type(reduction)].edges);
  }

  static std::string type(bool reduction) { return reduction ? "reduce" : "normal"; }

  at::Tensor loss() {
    const at::Tensor y = cell->forward(inputs, {.mixture = &mixture[cell->type()], .drop_path = 0.2, .seed = 3});
    return (y * normal_tensor(y.sizes(), 99, at::kDouble)).sum();
  }

  double shifted_loss(double step) {
    at::NoGradGuard no_grad;
    for (size_t i = 0; i < leaves.size(); ++i)
      leaves[i] += step * normal_tensor(leaves[i].sizes(), 1000 + i, at::kDouble);
    const double value = loss().item<double>();
    for (size_t i = 0; i < leaves.size(); ++i)
      leaves[i] -= step * normal_tensor(leaves[i].sizes(), 1000 + i, at::kDouble);
    return value;
  }
};

TEST(Cell, GradientsEqualFiniteDifferences) {
  for (const bool reduction : {false, true}) {
    Gradients check(reduction);
    const auto grads = torch::autograd::grad({check.loss()}, check.leaves);
    double slope = 0;
    for (size_t i = 0; i < grads.size(); ++i) {
      slope += (grads[i] * normal_tensor(grads[i].sizes(), 1000 + i, at::kDouble)).sum().item<double>();
    }
    constexpr double kStep = 1e-6;
    const double measured = (check.shifted_loss(kStep) - check.shifted_loss(-kStep)) / (2 * kStep);
    EXPECT_NEAR(measured / slope, 1, 1e-5) << slope;
  }
}

TEST(Cell, RefusesMixturesOfOtherSizes) {
  const Gradients sample(false);
  CellMixture mixture = sample.mixture.at("normal");
  mixture.ops = at::zeros({14, 7});
  EXPECT_THROW(sample.cell->check(mixture), Error);
  mixture = sample.mixture.at("normal");
  mixture.edges = at::zeros({3});
  EXPECT_THROW(sample.cell->check(mixture), Error);
  mixture = sample.mixture.at("normal");
  mixture.active = {{0}};
  EXPECT_THROW(sample.cell->check(mixture), Error);
}

}  // namespace
}  // namespace nascent
