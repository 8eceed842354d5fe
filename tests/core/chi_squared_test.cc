#include "nascent/core/chi_squared.h"

#include <gtest/gtest.h>

#include <cmath>

namespace nascent {
namespace {

// Percentage points that every table has, and the closed form of two degrees.
TEST(ChiSquared, MatchesTables) {
  EXPECT_NEAR(chi_squared_tail(3.841459, 1), 0.05, 1e-7);
  EXPECT_NEAR(chi_squared_tail(18.307038, 10), 0.05, 1e-7);
  EXPECT_NEAR(chi_squared_tail(135.806723, 100), 0.01, 1e-7);
  for (const double x : {0.1, 1.0, 3.0, 20.0}) EXPECT_NEAR(chi_squared_tail(x, 2), std::exp(-x / 2), 1e-14);
  EXPECT_EQ(chi_squared_tail(0, 3), 1);
}

}  // namespace
}  // namespace nascent
