#include "nascent/search/black_box/choice_density.h"

#include <gtest/gtest.h>

#include <cmath>

namespace nascent {
namespace {

TEST(ChoiceDensity, SumsToOne) {
  const ChoiceDensity density({{0, 1}, {0, 2}, {1, 2}}, {2, 3}, 0.1);
  double sum = 0;
  for (int a = 0; a < 2; ++a) {
    for (int b = 0; b < 3; ++b) sum += density.density({a, b});
  }
  EXPECT_NEAR(sum, 1, 1e-12);
}

TEST(ChoiceDensity, TwoPointsByHand) {
  // Bandwidth of two points in one dimension with four options: 3/4 * 2^(-1/5).
  const double bandwidth = 0.75 * std::pow(2, -0.2);
  const ChoiceDensity density({{0}, {1}}, {4}, 0);
  EXPECT_NEAR(density.density({0}), 0.5 * ((1 - bandwidth) + bandwidth / 3), 1e-12);
  EXPECT_NEAR(density.density({3}), bandwidth / 3, 1e-12);
}

TEST(ChoiceDensity, OnePointIsUniform) {
  const ChoiceDensity density({{2, 0}}, {3, 2}, 0.01);
  EXPECT_NEAR(density.density({2, 0}), 1.0 / 6, 1e-12);
  EXPECT_NEAR(density.density({0, 1}), 1.0 / 6, 1e-12);
}

TEST(ChoiceDensity, SamplesFollowTheDensity) {
  const ChoiceDensity density(std::vector<Choices>(1000, Choices{1}), {4}, 0);
  RandomStream random(1, "sample");
  std::vector<int> counts(4);
  for (int i = 0; i < 40000; ++i) ++counts[density.sample(random, 1)[0]];
  for (int option = 0; option < 4; ++option) {
    EXPECT_NEAR(counts[option] / 40000.0, density.density({option}), 0.01) << option;
  }
}

}  // namespace
}  // namespace nascent
