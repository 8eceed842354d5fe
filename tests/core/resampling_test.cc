#include "nascent/core/resampling.h"

#include <gtest/gtest.h>

#include <cmath>

#include "nascent/core/random.h"

namespace nascent {
namespace {

using Numbers = std::vector<double>;

Numbers gaussians(uint64_t sample, size_t n) {
  RandomStream random(7, "sample", {sample});
  Numbers numbers(n);
  for (double& x : numbers) x = 3 + 2 * random.normal();
  return numbers;
}

// Of many samples of a normal distribution with mean 3, the part whose interval holds it.
double coverage(size_t n, int samples) {
  int inside = 0;
  for (int i = 0; i < samples; ++i) {
    inside += bootstrap_mean(gaussians(static_cast<uint64_t>(i), n), {.resamples = 1000}).contains(3);
  }
  return static_cast<double>(inside) / samples;
}

TEST(Bootstrap, CoversTheMeanOfGaussians) {
  // Of 2000 samples 95 % have an error of 0.5 %. Plain percentiles come to 0.90 with ten numbers.
  EXPECT_NEAR(coverage(10, 2000), 0.95, 0.012);
  EXPECT_NEAR(coverage(30, 2000), 0.95, 0.012);
}

TEST(Bootstrap, CoversTheDifferenceOfMeans) {
  int inside = 0;
  for (uint64_t i = 0; i < 1000; ++i) {
    inside += bootstrap_difference(gaussians(2 * i, 10), gaussians(2 * i + 1, 15), {.resamples = 1000}).contains(0);
  }
  EXPECT_GT(inside, 940);
  EXPECT_LT(inside, 985);  // the tails of the smaller list: a little too wide
}

TEST(Bootstrap, IsDeterministicAndStaysWithinTheNumbers) {
  const Numbers numbers{1, 2, 4, 8};
  const Interval first = bootstrap_mean(numbers), second = bootstrap_mean(numbers);
  EXPECT_EQ(first.low, second.low);
  EXPECT_EQ(first.high, second.high);
  EXPECT_EQ(first.middle, 3.75);
  EXPECT_GE(first.low, 1);
  EXPECT_LE(first.high, 8);
  const Interval equal = bootstrap_mean(Numbers{5, 5, 5});
  EXPECT_EQ(equal.low, 5);
  EXPECT_EQ(equal.high, 5);
  const Interval pair = bootstrap_mean(Numbers{1, 2});  // two numbers say no more than that
  EXPECT_EQ(pair.low, 1);
  EXPECT_EQ(pair.high, 2);
  EXPECT_TRUE(std::isnan(bootstrap_mean(Numbers{1}).low));
}

TEST(Bootstrap, PredictsOneMoreNumber) {
  // Mean 3, deviation sqrt(2.5), 4 degrees: 2.776 sqrt(2.5 * 1.2).
  const Interval next = prediction_interval(Numbers{1, 2, 3, 4, 5});
  EXPECT_NEAR(next.high, 3 + 2.7764 * std::sqrt(3), 1e-3);
  EXPECT_NEAR(next.low, 3 - 2.7764 * std::sqrt(3), 1e-3);
}

TEST(SignFlipTest, CountsByHand) {
  // Of eight ways to choose signs, +++ and --- alone reach 6.
  const PermutationTest all = sign_flip_test(Numbers{1, 2, 3});
  EXPECT_EQ(all.p, 0.25);
  EXPECT_EQ(all.least, 0.25);
  EXPECT_TRUE(all.exact);
  // |1 + 2 - 3| = 0: every way is as far.
  EXPECT_EQ(sign_flip_test(Numbers{1, 2, -3}).p, 1);
  // |-1 + 2 + 3| = 4: also reached by 6, and each with all signs turned.
  EXPECT_EQ(sign_flip_test(Numbers{-1, 2, 3}).p, 0.5);
  EXPECT_EQ(sign_flip_test(Numbers{0, 0}).p, 1);
}

TEST(SignFlipTest, OfManyPairsAgreesWithTheExactOne) {
  const Numbers few = gaussians(1, 20);
  Numbers centred(few);
  for (double& x : centred) x -= 2;
  const double exact = sign_flip_test(centred).p;
  Numbers more(centred);
  more.push_back(0);  // changes nothing but the number of ways, which is now too large
  const PermutationTest drawn = sign_flip_test(more, {.resamples = 20000});
  EXPECT_FALSE(drawn.exact);
  EXPECT_NEAR(drawn.p, exact, 4 * std::sqrt(exact * (1 - exact) / 20000) + 1e-4);
}

TEST(PermutationTest, CountsByHand) {
  // Of ten ways to choose two of five, {4, 5} alone has means as far apart as {1, 2}: 4.5 - 2 = 4 - 1.5.
  const PermutationTest test = permutation_test(Numbers{1, 2}, Numbers{3, 4, 5});
  EXPECT_DOUBLE_EQ(test.p, 0.2);
  EXPECT_DOUBLE_EQ(test.least, 0.1);
  EXPECT_TRUE(test.exact);
  // Lists of one length can change places.
  EXPECT_DOUBLE_EQ(permutation_test(Numbers{1, 2}, Numbers{3, 4}).p, 2.0 / 6);
  EXPECT_EQ(permutation_test(Numbers{1, 1}, Numbers{1, 1, 1}).p, 1);
}

TEST(PermutationTest, HoldsItsLevel) {
  int small = 0;
  for (uint64_t i = 0; i < 1000; ++i) {
    small += permutation_test(gaussians(2 * i, 6), gaussians(2 * i + 1, 7)).p <= 0.05 ? 1 : 0;
  }
  EXPECT_NEAR(small / 1000.0, 0.05, 0.021);  // three standard errors
  // Drawn at random: 15 and 15 can be dealt out in 155 million ways.
  small = 0;
  for (uint64_t i = 0; i < 300; ++i) {
    const auto test = permutation_test(gaussians(2 * i, 15), gaussians(2 * i + 1, 15), {.resamples = 199});
    EXPECT_FALSE(test.exact);
    small += test.p <= 0.1 ? 1 : 0;
  }
  EXPECT_NEAR(small / 300.0, 0.1, 0.052);
}

TEST(Holm, ByHand) {
  // Sorted 0.01, 0.02, 0.03, 0.04 times 4, 3, 2, 1: 0.04, 0.06, 0.06, 0.04, never falling.
  const Numbers corrected = holm(Numbers{0.03, 0.01, 0.04, 0.02});
  EXPECT_DOUBLE_EQ(corrected[1], 0.04);
  EXPECT_DOUBLE_EQ(corrected[3], 0.06);
  EXPECT_DOUBLE_EQ(corrected[0], 0.06);
  EXPECT_DOUBLE_EQ(corrected[2], 0.06);
  EXPECT_EQ(holm(Numbers{0.7, 0.8})[1], 1);
}

}  // namespace
}  // namespace nascent
