#include "nascent/analysis/rank.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "nascent/core/error.h"
#include "nascent/core/random.h"

namespace nascent {
namespace {

TEST(Rank, TheSameOrderAgreesEntirely) {
  std::vector<double> a, b;
  for (int i = 0; i < 20; ++i) a.push_back(i), b.push_back(std::exp(0.3 * i));
  const RankAgreement found = rank_agreement("a", a, b, {.share = 0.3, .permutations = 200});
  EXPECT_DOUBLE_EQ(found.spearman, 1);
  EXPECT_DOUBLE_EQ(found.kendall, 1);
  EXPECT_LT(found.pearson, 1);
  EXPECT_EQ(found.agreement, 1);
  EXPECT_DOUBLE_EQ(found.agreement_chance, 0.3);
  EXPECT_DOUBLE_EQ(found.spearman_p, 1.0 / 201);
}

TEST(Rank, OverlapByHand) {
  const std::vector<double> a = {5, 4, 3, 2, 1}, b = {1, 5, 2, 4, 3};
  EXPECT_DOUBLE_EQ(top_overlap(a, b, 2), 0.5);  // {0, 1} and {1, 3}
  EXPECT_DOUBLE_EQ(top_overlap(a, b, 1), 0);
  EXPECT_DOUBLE_EQ(top_overlap(a, b, 5), 1);
}

TEST(Rank, ChanceHasUniformPValues) {
  int small = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    RandomStream random(seed, "test");
    std::vector<double> a, b;
    for (int i = 0; i < 12; ++i) a.push_back(random.normal()), b.push_back(random.normal());
    small += rank_agreement("a", a, b, {.permutations = 99, .seed = seed}).spearman_p <= 0.1 ? 1 : 0;
  }
  EXPECT_GT(small, 2);
  EXPECT_LT(small, 22);
}

// It had the least p-value there is: no permutation compares with a correlation that is not a number.
TEST(Rank, AConstantHasNeitherCorrelationNorPValue) {
  const RankAgreement found =
      rank_agreement("a", std::vector<double>{2, 2, 2, 2}, std::vector<double>{1, 2, 3, 4}, {.permutations = 99});
  for (const double number :
       {found.spearman, found.spearman_p, found.pearson, found.pearson_p, found.kendall, found.kendall_p}) {
    EXPECT_TRUE(std::isnan(number)) << number;
  }
  for (const char* key : {"spearman", "spearman_p", "pearson", "pearson_p", "kendall", "kendall_p"}) {
    EXPECT_TRUE(found.to_json()[key].is_null()) << key;
  }
}

TEST(Rank, LeavesOutWhatIsMissing) {
  const RankAgreement found =
      rank_agreement("a", std::vector<double>{1, NAN, 2, 3}, std::vector<double>{1, 5, 2, 3}, {.permutations = 9});
  EXPECT_EQ(found.architectures, 3);
  EXPECT_THAT(
      [] {
        rank_agreement("a", std::vector<double>{1, 2}, std::vector<double>{1, 2}, {});
      },
      testing::ThrowsMessage<Error>(testing::HasSubstr("at least 3 are needed")));
}

}  // namespace
}  // namespace nascent
