#include "nascent/ensemble/svgd.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "nascent/core/error.h"
#include "nascent/ensemble/diversity.h"
#include "nascent/ensemble/fairness.h"
#include "nascent/ensemble/relaxed_posterior.h"
#include "nascent/ensemble/two_gaussians.h"
#include "nascent/search/one_shot/one_hot.h"

namespace nascent {
namespace {

ParticleSpread mean_of_seeds(double delta, double momentum) {
  return spread_on_two_gaussians({.delta = delta, .iterations = 1000, .step = 0.1, .momentum = momentum}, 15, 5);
}

TEST(Svgd, SpreadOfTheTwoGaussiansGrowsWithDelta) {
  const std::vector<std::pair<double, double>> known = {{-0.5, 1.09}, {0, 1.36}, {0.5, 1.57}, {1, 1.76}};
  for (const auto& [delta, distance] : known) {
    const ParticleSpread plain = mean_of_seeds(delta, 0), momentum = mean_of_seeds(delta, 0.9);
    EXPECT_NEAR(plain.mean_x, -0.5, 0.03) << delta;
    EXPECT_NEAR(plain.mean_y, 0.5, 0.03) << delta;
    EXPECT_NEAR(plain.distance, distance, 0.05 * distance) << delta;
    EXPECT_NEAR(momentum.distance, plain.distance, 0.02 * plain.distance) << delta;
  }
}

TEST(Svgd, TheTargetsGradientIsThatOfItsDensity) {
  const Particle x = {0.3, -0.4};
  Particle slope(2);
  two_gaussians_gradient(x, slope);
  const auto log_density = [](double a, double b) { return std::log(two_gaussians_density(a, b)); };
  EXPECT_NEAR(slope[0], (log_density(x[0] + 1e-5, x[1]) - log_density(x[0] - 1e-5, x[1])) / 2e-5, 1e-8);
  EXPECT_NEAR(slope[1], (log_density(x[0], x[1] + 1e-5) - log_density(x[0], x[1] - 1e-5)) / 2e-5, 1e-8);
}

TEST(Svgd, CovarianceAtZeroDeltaIsNearTheTargets) {
  const ParticleSpread found = mean_of_seeds(0, 0);
  EXPECT_NEAR(found.xx, 0.45, 0.02);
  EXPECT_NEAR(found.xy, 0.26, 0.02);
  EXPECT_NEAR(found.yy, 0.65, 0.02);
}

// Proposition 5.2: one particle climbs the density, to the bit, whatever delta.
TEST(Svgd, OneParticleIsPlainAscent) {
  Particle climbed = gaussian_particles(1, 2, 7)[0];
  for (int i = 0; i < 200; ++i) {
    Particle slope(2);
    two_gaussians_gradient(climbed, slope);
    for (size_t d = 0; d < 2; ++d) climbed[d] += 0.1 * slope[d];
  }
  for (const double delta : {-2.0, 0.0, 0.5, 3.0}) {
    Particles one = gaussian_particles(1, 2, 7);
    svgd(one, two_gaussians_gradient, {.delta = delta, .iterations = 200, .step = 0.1, .momentum = 0});
    EXPECT_EQ(one[0], climbed);
  }
}

void set_logits(ArchitecturePosterior& posterior, double scale, uint64_t seed) {
  at::NoGradGuard no_grad;
  uint64_t index = 0;
  for (const at::Tensor& logits : posterior.parameters()) {
    RandomStream random(seed, "logits", {index++});
    for (int64_t i = 0; i < logits.numel(); ++i) {
      float& value = logits.data_ptr<float>()[i];
      if (value > kNever / 2) value = static_cast<float>(scale * random.normal());
    }
  }
}

TEST(RelaxedPosterior, GradientIsThatOfItsDensity) {
  const auto space = find_space("darts");
  ArchitecturePosterior posterior(*space, {}, 1);
  set_logits(posterior, 1, 3);
  const RelaxedPosterior relaxed(posterior);
  // 28 sites of 7 operations; in each cell the nodes with 3, 4 and 5 inputs choose.
  EXPECT_EQ(relaxed.dimensions(), 28u * 7 + 2 * (3 + 4 + 5));
  Particle x = gaussian_particles(1, relaxed.dimensions(), 4)[0], slope(x.size());
  relaxed.gradient(x, slope);
  for (size_t i = 0; i < x.size(); i += 11) {
    const double at = x[i], eps = 1e-5;
    x[i] = at + eps;
    const double above = relaxed.log_density(x);
    x[i] = at - eps;
    const double below = relaxed.log_density(x);
    x[i] = at;
    EXPECT_NEAR(slope[i], (above - below) / (2 * eps), 1e-7);
  }
}

// The same density written with tensors: over sites, log of the sum over operations of p N(x | one-hot, |O| I).
TEST(RelaxedPosterior, GradientAgreesWithAutograd) {
  const auto space = find_space("nasbench201");
  ArchitecturePosterior posterior(*space, {}, 1);
  set_logits(posterior, 1, 3);
  const RelaxedPosterior relaxed(posterior);
  ASSERT_EQ(relaxed.dimensions(), 30u);
  const Particle x = gaussian_particles(1, 30, 4)[0];
  Particle slope(30);
  relaxed.gradient(x, slope);
  at::Tensor point = at::tensor(x, at::kDouble).view({6, 5}).clone().requires_grad_();
  const at::Tensor log_p = posterior.logits().begin()->second.ops.detach().to(at::kDouble).log_softmax(1);
  const at::Tensor gaps = point.unsqueeze(1) - at::eye(5, at::kDouble).unsqueeze(0);
  (log_p - gaps.square().sum(-1) / 10).logsumexp(1).sum().backward();
  const at::Tensor expected = point.grad().contiguous();
  for (size_t i = 0; i < 30; ++i) EXPECT_NEAR(slope[i], expected.data_ptr<double>()[i], 1e-12);
}

// Without repulsion all particles come to the one mode that a variance of |O| leaves.
TEST(RelaxedPosterior, DeltaOfMinusOneDecodesToTheMostProbable) {
  const auto space = find_space("nasbench201");
  ArchitecturePosterior posterior(*space, {}, 1);
  set_logits(posterior, 1.5, 5);
  const RelaxedPosterior relaxed(posterior);
  Particles particles = gaussian_particles(4, relaxed.dimensions(), 6);
  svgd(particles, [&](std::span<const double> x, std::span<double> out) { relaxed.gradient(x, out); }, {.delta = -1});
  for (const Particle& particle : particles) EXPECT_EQ(relaxed.decode(particle), posterior.most_probable());
}

TEST(RelaxedPosterior, EverySpaceDecodes) {
  for (const std::string name :
       {"darts", "darts-s1", "nasbench201", "nasbench1shot1-s1", "nasbench1shot1-s3", "nasnet"}) {
    const auto space = find_space(name);
    const RelaxedPosterior relaxed(ArchitecturePosterior(*space, {}, 1));
    for (const Particle& particle : gaussian_particles(20, relaxed.dimensions(), 2)) {
      EXPECT_NO_THROW(space->validate(relaxed.decode(particle))) << name;
    }
  }
}

TEST(Delta, IsANumberTheBestOfAGridOrFound) {
  const auto loss = [](double delta) { return (delta + 0.7) * (delta + 0.7); };
  const auto best = [](const std::vector<DeltaTrial>& trials) {
    const auto lower = [](const DeltaTrial& a, const DeltaTrial& b) { return a.loss < b.loss; };
    return std::min_element(trials.begin(), trials.end(), lower)->delta;
  };
  EXPECT_EQ(search_delta("0.25", loss, 1).size(), 1u);
  EXPECT_EQ(search_delta("0.25", loss, 1)[0].delta, 0.25);
  const auto grid = search_delta("grid", loss, 1);
  EXPECT_EQ(grid.size(), 7u);
  EXPECT_DOUBLE_EQ(best(grid), -0.5);
  const auto found = search_delta("bo", loss, 1);
  EXPECT_EQ(found.size(), 10u);
  EXPECT_NEAR(best(found), -0.7, 0.1);
  EXPECT_THROW(check_delta("gird"), Error);
}

TEST(Fairness, CountsAgainstTheClosedForm) {
  const auto space = find_space("darts");
  const auto draw = [&](int64_t step) {
    RandomStream random(1, "path", {static_cast<uint64_t>(step)});
    return one_hot(*space, space->sample(random));
  };
  const Fairness fairness = count_fairness(*space, 700, draw);
  ASSERT_EQ(fairness.cells.size(), 2u);
  // P(kept) is 1, 2/3, 2/4 and 2/5 at nodes with 2, 3, 4 and 5 inputs; there are 7 operations.
  const std::vector<double> expected = {100, 100, 200.0 / 3, 200.0 / 3, 200.0 / 3, 50, 50, 50, 50, 40, 40, 40, 40, 40};
  int64_t sum = 0;
  for (size_t site = 0; site < 14; ++site) {
    EXPECT_NEAR(fairness.cells[0].expected[site], expected[site], 1e-9);
    for (const int64_t count : fairness.cells[0].counts[site]) sum += count;
  }
  EXPECT_EQ(sum, 700 * 8);
  EXPECT_EQ(fairness.freedom, 2 * (14 * 6 + 2 + 3 + 4));
  EXPECT_GT(fairness.p_value, 1e-3);
  EXPECT_LT(fairness.p_value, 0.999);
  // Always the same path is as unfair as can be.
  EXPECT_LT(count_fairness(*space, 700, [&](int64_t) { return draw(0); }).p_value, 1e-12);
}

// Of four operations, not five, each is expected in a quarter of the steps.
TEST(Fairness, WhatIsExcludedIsNotExpected) {
  const auto space = find_space("nasbench201");
  RelaxationOptions options;
  options.exclude = {"none"};
  for (const std::string name : {"single-path", "fair-path"}) {
    const auto path = Relaxation::Registry::instance().make(name, RelaxationSetup{*space, options, 1});
    const Fairness fairness = count_fairness(*without(*space, options.exclude), 400,
                                             [&](int64_t step) { return path->mixture({.seed = 1, .step = step}); });
    for (const double expected : fairness.cells[0].expected) EXPECT_DOUBLE_EQ(expected, 100);
    for (const auto& counts : fairness.cells[0].counts) {
      ASSERT_EQ(counts.size(), 4u);
      EXPECT_EQ(std::accumulate(counts.begin(), counts.end(), int64_t{0}), 400);
    }
    EXPECT_GT(fairness.p_value, 1e-3) << name;
  }
}

TEST(Fairness, StrictPathsTrainEveryOperationOnce) {
  const auto space = find_space("darts");
  const RelaxationOptions options;
  const auto fair = Relaxation::Registry::instance().make("fair-path", RelaxationSetup{*space, options, 1});
  const Fairness fairness =
      count_fairness(*space, 7 * 30, [&](int64_t step) { return fair->mixture({.seed = 1, .step = step}); });
  for (const CellCounts& cell : fairness.cells) {
    for (const auto& row : cell.counts) {
      for (const int64_t count : row) EXPECT_EQ(count, row[0]);
    }
    EXPECT_EQ(cell.counts[0][0], 30);  // the first node keeps both of its inputs
  }
}

}  // namespace
}  // namespace nascent
