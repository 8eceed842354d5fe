#include "nascent/score/agreement.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace nascent {
namespace {

TEST(Agreement, ABoundThatOrdersLikeTheErrorsAgreesWholly) {
  const std::vector<double> metric = {1, 2, 3, 4, 5}, ones(5, 1.0), errors = {50, 40, 30, 20, 10};
  const BoundAgreement found = bound_agreement(metric, ones, errors, 20, 1);
  EXPECT_DOUBLE_EQ(found.realisable.spearman, 1);
  EXPECT_DOUBLE_EQ(found.realisable.kendall, 1);
  EXPECT_DOUBLE_EQ(found.with_kappa.spearman, 1);
}

TEST(Agreement, TheTradeOffFindsTheBestMetricInTheMiddle) {
  // Errors are lowest where the metric is 10: no monotone bound fits, the one with (M^2 - nu)^2 does.
  std::vector<double> metric, errors, ones;
  for (int i = 1; i <= 20; ++i) {
    metric.push_back(i);
    errors.push_back(std::abs(i * i - 100.0));
    ones.push_back(1);
  }
  const BoundAgreement found = bound_agreement(metric, ones, errors, 300, 1);
  EXPECT_LT(found.realisable.spearman, 0);
  EXPECT_GT(found.trade_off.spearman, 0.99);
  EXPECT_GT(found.whole.spearman, 0.99);
  EXPECT_NEAR(std::sqrt(found.nu), 10, 1.5);
}

// A metric over many orders of magnitude: hardly any pair fits, and to do without the trade-off is always allowed.
TEST(Agreement, TheTradeOffIsLeftOutWhereItDoesHarm) {
  const std::vector<double> metric = {1, 10, 1e3, 1e6, 1e12}, ones(5, 1.0), errors = {50, 40, 30, 20, 10};
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    EXPECT_DOUBLE_EQ(bound_agreement(metric, ones, errors, 1, seed).whole.spearman, 1) << seed;
  }
}

TEST(Agreement, WhatIsNotFiniteCountsAsLargest) {
  const double inf = std::numeric_limits<double>::infinity();
  const std::vector<double> metric = {0, 1, 2, 3}, kappa = {inf, 3, 2, 1}, errors = {90, 30, 20, 10};
  EXPECT_DOUBLE_EQ(bound_agreement(metric, kappa, errors, 5, 1).with_kappa.spearman, 1);
}

}  // namespace
}  // namespace nascent
