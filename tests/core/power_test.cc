#include "nascent/core/power.h"

#include <gtest/gtest.h>

#include <cmath>

#include "nascent/core/random.h"
#include "nascent/core/resampling.h"

namespace nascent {
namespace {

std::vector<double> normals(RandomStream& random, const NormalList& list, double mean) {
  std::vector<double> numbers(list.count);
  for (double& x : numbers) x = mean + list.deviation * random.normal();
  return numbers;
}

// Of experiments with this true difference, the part that the test itself finds significant.
double seen_by_signs(size_t pairs, double difference, double level, int experiments) {
  int seen = 0;
  for (int i = 0; i < experiments; ++i) {
    RandomStream random(99, "direct", {static_cast<uint64_t>(i)});
    seen += sign_flip_test(normals(random, {pairs, 1}, difference)).p <= level ? 1 : 0;
  }
  return static_cast<double>(seen) / experiments;
}

double seen_by_deals(const NormalList& a, const NormalList& b, double difference, double level, int experiments) {
  int seen = 0;
  for (int i = 0; i < experiments; ++i) {
    RandomStream random(99, "direct", {static_cast<uint64_t>(i)});
    const auto first = normals(random, a, 0);
    seen += permutation_test(first, normals(random, b, difference)).p <= level ? 1 : 0;
  }
  return static_cast<double>(seen) / experiments;
}

// By the power of Student's test, which stood here first, the test saw 61 % of these with ten pairs and twenty rows.
TEST(Power, OfPairsIsWhatTheTestSees) {
  for (const auto& [pairs, rows] : {std::pair<size_t, int>{6, 1}, {8, 5}, {10, 1}, {10, 20}, {12, 30}}) {
    const double level = 0.05 / rows, difference = detectable_by_signs(pairs, 1, level);
    EXPECT_NEAR(seen_by_signs(pairs, difference, level, 2000), 0.8, 0.04) << pairs << " pairs, " << rows << " rows";
  }
  // More pairs than all signs of which are gone through.
  EXPECT_NEAR(seen_by_signs(15, detectable_by_signs(15, 1, 0.0025), 0.0025, 500), 0.8, 0.06);
}

TEST(Power, OfTwoListsIsWhatTheTestSees) {
  for (const auto& [a, b] : {std::pair<NormalList, NormalList>{{4, 1}, {4, 1}}, {{6, 1}, {6, 3}}, {{10, 1}, {4, 3}}}) {
    const double difference = detectable_by_deals(a, b, 0.05);
    EXPECT_NEAR(seen_by_deals(a, b, difference, 0.05, 2000), 0.8, 0.04) << a.count << " and " << b.count;
  }
  const NormalList a{5, 1}, b{5, 3}, many{9, 1};
  EXPECT_NEAR(seen_by_deals(a, b, detectable_by_deals(a, b, 0.01), 0.01, 2000), 0.8, 0.04);
  EXPECT_NEAR(seen_by_deals(many, many, detectable_by_deals(many, many, 0.01), 0.01, 500), 0.8, 0.06);
}

// Of many numbers a permutation test sees what Student's does. Cohen 1988: 34 pairs for half a deviation; 26 in each of
// two groups for 0.8, 64 for half a deviation.
TEST(Power, OfManyIsThatOfTheTables) {
  EXPECT_NEAR(detectable_by_signs(34, 1, 0.05), 0.5, 0.02);
  EXPECT_NEAR(detectable_by_deals({26, 1}, {26, 1}, 0.05), 0.8, 0.03);
  EXPECT_NEAR(detectable_by_deals({64, 1}, {64, 1}, 0.05), 0.5, 0.02);
}

TEST(Power, GrowsWithTheDeviationAndMayBeNone) {
  EXPECT_FLOAT_EQ(detectable_by_signs(10, 3, 0.01), 3 * detectable_by_signs(10, 1, 0.01));
  EXPECT_EQ(detectable_by_signs(10, 0, 0.01), 0);
  EXPECT_EQ(detectable_by_deals({6, 0}, {7, 0}, 0.01), 0);
  EXPECT_EQ(detectable_by_signs(5, 1, 0.05), INFINITY);            // 2 of 32
  EXPECT_EQ(detectable_by_deals({3, 1}, {3, 1}, 0.05), INFINITY);  // 2 of 20
  EXPECT_LT(detectable_by_deals({3, 1}, {4, 1}, 0.05), INFINITY);  // 1 of 35
  EXPECT_GT(detectable_by_signs(10, 1, 0.01), detectable_by_signs(10, 1, 0.05));
}

}  // namespace
}  // namespace nascent
