#include "nascent/core/correlation.h"

#include <gtest/gtest.h>

#include <cmath>

#include "nascent/core/random.h"

namespace nascent {
namespace {

using Numbers = std::vector<double>;

// The definitions, pair by pair.
double kendall_by_pairs(const Numbers& a, const Numbers& b) {
  const auto sign = [](double x) { return (x > 0) - (x < 0); };
  double sum = 0, differ_a = 0, differ_b = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      sum += sign(a[i] - a[j]) * sign(b[i] - b[j]);
      differ_a += a[i] != a[j];
      differ_b += b[i] != b[j];
    }
  }
  return sum / std::sqrt(differ_a * differ_b);
}

double rank_by_counting(const Numbers& all, double x) {
  double below = 0, equal = 0;
  for (const double y : all) {
    below += y < x;
    equal += y == x;
  }
  return below + (equal + 1) / 2;
}

// `kinds` different values, so that there are ties.
Numbers random_numbers(int64_t seed, size_t n, int64_t kinds) {
  RandomStream random(seed, "numbers");
  Numbers numbers(n);
  for (double& x : numbers) x = static_cast<double>(random.below(kinds));
  return numbers;
}

TEST(Correlation, PearsonByHand) {
  // Means 2 and 11/3: 7 / sqrt(2 * 86/3).
  EXPECT_NEAR(pearson(Numbers{1, 2, 3}, Numbers{1, 2, 8}), 7 / std::sqrt(2 * 86.0 / 3), 1e-14);
  EXPECT_DOUBLE_EQ(pearson(Numbers{1, 2, 3}, Numbers{6, 4, 2}), -1);
  EXPECT_NEAR(pearson(Numbers{1, 2, 3, 4}, Numbers{1, -1, -1, 1}), 0, 1e-15);
}

TEST(Correlation, SpearmanWithTiesByHand) {
  // Ranks 1, 2.5, 2.5, 4 and 1, 3, 2, 4: 4.5 / sqrt(4.5 * 5).
  EXPECT_NEAR(spearman(Numbers{1, 2, 2, 3}, Numbers{1, 3, 2, 4}), 4.5 / std::sqrt(4.5 * 5), 1e-14);
  EXPECT_DOUBLE_EQ(spearman(Numbers{1, 2, 3}, Numbers{1, 10, 1000}), 1);
}

TEST(Correlation, KendallWithTiesByHand) {
  // Of six pairs five are concordant and one tied in a: 5 / sqrt(5 * 6).
  EXPECT_NEAR(kendall(Numbers{1, 2, 2, 3}, Numbers{1, 3, 2, 4}), 5 / std::sqrt(5.0 * 6), 1e-14);
  // Concordant 4, discordant 2.
  EXPECT_NEAR(kendall(Numbers{1, 2, 3, 4}, Numbers{3, 1, 2, 4}), 2.0 / 6, 1e-14);
  EXPECT_DOUBLE_EQ(kendall(Numbers{1, 2, 3}, Numbers{9, 4, 1}), -1);
}

TEST(Correlation, KendallAgreesWithPairByPair) {
  for (int64_t seed = 0; seed < 200; ++seed) {
    const size_t n = 2 + seed % 37;
    const Numbers a = random_numbers(2 * seed, n, 2 + seed % 11), b = random_numbers(2 * seed + 1, n, 2 + seed % 7);
    const double expected = kendall_by_pairs(a, b);
    if (std::isfinite(expected)) {
      EXPECT_NEAR(kendall(a, b), expected, 1e-12) << "seed " << seed;
    } else {
      EXPECT_TRUE(std::isnan(kendall(a, b))) << "seed " << seed;
    }
  }
}

TEST(Correlation, RanksAgreeWithCounting) {
  for (int64_t seed = 0; seed < 50; ++seed) {
    const Numbers a = random_numbers(seed, 40, 15), b = random_numbers(seed + 1000, 40, 15);
    const Numbers ranked = ranks(a);
    Numbers expected_a, expected_b;
    for (const double x : a) expected_a.push_back(rank_by_counting(a, x));
    for (const double x : b) expected_b.push_back(rank_by_counting(b, x));
    EXPECT_EQ(ranked, expected_a);
    EXPECT_NEAR(spearman(a, b), pearson(expected_a, expected_b), 1e-14);
  }
}

TEST(Correlation, IsNaNWhereItIsNotDefined) {
  for (const auto correlation : {pearson, spearman, kendall}) {
    EXPECT_TRUE(std::isnan(correlation(Numbers{}, Numbers{})));
    EXPECT_TRUE(std::isnan(correlation(Numbers{1}, Numbers{2})));
    EXPECT_TRUE(std::isnan(correlation(Numbers{0.1, 0.1, 0.1}, Numbers{1, 2, 3})));
    EXPECT_TRUE(std::isnan(correlation(Numbers{1, NAN, 3}, Numbers{1, 2, 3})));
    EXPECT_TRUE(std::isnan(correlation(Numbers{1, INFINITY, 3}, Numbers{1, 2, 3})));
  }
}

TEST(Correlation, KendallOfManyNumbersDoesNotOverflow) {
  Numbers up(200000), down(200000);
  for (size_t i = 0; i < up.size(); ++i) up[i] = static_cast<double>(i), down[i] = -up[i];
  EXPECT_DOUBLE_EQ(kendall(up, up), 1);
  EXPECT_DOUBLE_EQ(kendall(up, down), -1);
}

// Of ten numbers the three smallest are {0, 1, 2} and {1, 2, 9}: two of three agree, three of ten by chance.
TEST(TopAgreement, CountsWhatIsCommonToTheSmallest) {
  const Numbers a = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  const Numbers b = {9, 1, 2, 4, 5, 6, 7, 8, 10, 3};
  EXPECT_DOUBLE_EQ(top_agreement(a, b, 0.3).value, 2.0 / 3);
  EXPECT_DOUBLE_EQ(top_agreement(a, b, 0.3).chance, 0.3);
  EXPECT_DOUBLE_EQ(top_agreement(a, a, 0.3).value, 1);
  EXPECT_DOUBLE_EQ(top_agreement(a, b, 0.01).value, 0);  // at least one number is compared
  EXPECT_TRUE(std::isnan(top_agreement(Numbers{1}, Numbers{1}, 0.3).value));
}

// Four numbers in the same order: only the identity among 24 permutations has a Spearman correlation of 1.
TEST(PermutationP, MatchesCounting) {
  const Numbers a = {1, 2, 3, 4};
  EXPECT_NEAR(permutation_p(spearman, a, a, 20000, 1), 1.0 / 24, 0.006);
  EXPECT_DOUBLE_EQ(permutation_p(spearman, a, Numbers{4, 3, 2, 1}, 100, 1), 1);
  EXPECT_TRUE(std::isnan(permutation_p(spearman, a, Numbers{1, 1, 1, 1}, 100, 1)));
}

}  // namespace
}  // namespace nascent
