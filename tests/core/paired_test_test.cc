#include "nascent/core/paired_test.h"

#include <gtest/gtest.h>

#include <cmath>

namespace nascent {
namespace {

// Known from tables of Student's distribution.
TEST(PairedTest, GivesTheProbabilitiesOfTheTables) {
  EXPECT_NEAR(two_sided_p(12.706, 1), 0.05, 1e-5);
  EXPECT_NEAR(two_sided_p(2.776, 4), 0.05, 1e-4);
  EXPECT_NEAR(two_sided_p(-2.776, 4), 0.05, 1e-4);
  EXPECT_NEAR(two_sided_p(2.042, 30), 0.05, 1e-4);
  EXPECT_NEAR(two_sided_p(63.657, 1), 0.01, 1e-5);
  EXPECT_EQ(two_sided_p(0, 7), 1);
}

TEST(PairedTest, OfDifferences) {
  const PairedTest test = paired_test({1, 2, 3, 4, 5});
  EXPECT_EQ(test.difference, 3);
  EXPECT_NEAR(test.deviation, std::sqrt(2.5), 1e-12);
  EXPECT_NEAR(test.t, 3 / std::sqrt(0.5), 1e-12);
  EXPECT_NEAR(test.p, 0.01324, 1e-5);
  EXPECT_EQ(paired_test({0, 0}).p, 1);
  EXPECT_EQ(paired_test({2, 2}).p, 0);
}

}  // namespace
}  // namespace nascent
