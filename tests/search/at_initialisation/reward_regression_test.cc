#include "nascent/search/at_initialisation/reward_regression.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace nascent {
namespace {

at::Tensor row(std::vector<double> values) { return at::tensor(values); }

TEST(RewardRegression, HasAnInterceptAndARidgeOfThree) {
  RewardRegression regression(1);
  EXPECT_EQ(regression.coefficients().item<float>(), 0);
  for (int i = 0; i < 60; ++i) regression.observe(row({i % 2 ? 1.0 : -1.0}), 1000 + (i % 2 ? 2.0 : -2.0));
  EXPECT_NEAR(regression.coefficients().item<double>(), 120.0 / 63, 1e-6);
}

TEST(RewardRegression, TellsApartWhatChoicesDidThatWereOftenDrawnTogether) {
  // The first decides, and the second agrees with it in three draws of four: reward times score would credit it with
  // half.
  RewardRegression regression(2);
  for (int i = 0; i < 4000; ++i) {
    const double first = i % 2 ? 1 : -1, second = i % 8 < 6 ? first : -first;
    regression.observe(row({first, second}), first);
  }
  // (4003, 2000; 2000, 4003) c = (4000, 2000).
  const double determinant = 4003.0 * 4003 - 2000.0 * 2000;
  EXPECT_NEAR(regression.coefficients()[0].item<double>(), (4000.0 * 4003 - 2000.0 * 2000) / determinant, 1e-5);
  EXPECT_NEAR(regression.coefficients()[1].item<double>(), (4003.0 * 2000 - 2000.0 * 4000) / determinant, 1e-5);
}

}  // namespace
}  // namespace nascent
