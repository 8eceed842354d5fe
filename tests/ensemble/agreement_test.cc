#include "nascent/ensemble/agreement.h"

#include <gmock/gmock.h>

#include "ensemble/tables.h"
#include "nascent/core/error.h"

namespace nascent {
namespace {

using namespace testing_ensemble;

// Architecture m has skill m, under shared weights and trained, so both order ensembles alike.
EstimatedAndTrue skilled_pool(size_t count, bool reversed = false) {
  EstimatedAndTrue pool;
  pool.estimated_labels = cyclic_labels(300, 4);
  pool.trained_labels = cyclic_labels(500, 4);
  for (size_t m = 0; m < count; ++m) {
    const double skill = 0.4 * static_cast<double>(m);
    const double true_skill = 0.4 * static_cast<double>(reversed ? count - m : m + 1);
    pool.estimated.push_back(random_table(300, 4, pool.estimated_labels, m, skill));
    pool.trained.push_back(random_table(500, 4, pool.trained_labels, 100 + m, true_skill));
  }
  return pool;
}

TEST(EnsembleAgreement, IsCertainWhereBothOrderArchitecturesAlike) {
  const EstimatedAndTrue pool = skilled_pool(8);
  for (const auto& [size, ensembles] : {std::pair(1, 8), std::pair(3, 56), std::pair(5, 56), std::pair(7, 8)}) {
    const AgreementRow row = ensemble_agreement(pool, size, {.losses = true, .permutations = 200});
    EXPECT_EQ(row.ensembles, ensembles);
    EXPECT_GT(row.spearman, 0.9) << size;
    EXPECT_GT(row.pearson, 0.9) << size;
    EXPECT_LE(row.spearman_p, 0.02) << size;
    EXPECT_LE(row.pearson_p, 0.02) << size;
    EXPECT_GT(row.agreement, 0.6) << size;
  }
}

TEST(EnsembleAgreement, IsNegativeWhereTheyAreReversed) {
  const AgreementRow row = ensemble_agreement(skilled_pool(8, true), 3, {.losses = true, .permutations = 100});
  EXPECT_LT(row.spearman, -0.9);
  EXPECT_EQ(row.spearman_p, 1);
  EXPECT_EQ(row.agreement, 0);
}

// Of 10 architectures, 3 count as the best 30 %, of 120 ensembles 36: agreement divides by them, so chance is 30 %.
TEST(EnsembleAgreement, ChanceIsTheShareOfTheBest) {
  const EstimatedAndTrue pool = skilled_pool(10);
  EXPECT_NEAR(ensemble_agreement(pool, 1, {.permutations = 1}).chance, 0.3, 1e-12);
  EXPECT_NEAR(ensemble_agreement(pool, 3, {.permutations = 1}).chance, 0.3, 1e-12);
}

// Ensembles share members. Among unrelated architectures a p-value that shuffled ensembles would be far too small far
// too often; one that shuffles architectures is below a tenth about one time in ten.
TEST(EnsembleAgreement, PValuesAllowForSharedMembers) {
  int small = 0;
  constexpr int kTrials = 60;
  for (uint64_t trial = 0; trial < kTrials; ++trial) {
    EstimatedAndTrue pool;
    pool.estimated_labels = pool.trained_labels = cyclic_labels(60, 3);
    for (uint64_t m = 0; m < 7; ++m) {
      RandomStream random(trial, "skill", {m});
      pool.estimated.push_back(random_table(60, 3, pool.estimated_labels, 1000 * trial + m, random.uniform(0, 2)));
      pool.trained.push_back(random_table(60, 3, pool.trained_labels, 1000 * trial + 500 + m, random.uniform(0, 2)));
    }
    small += ensemble_agreement(pool, 3, {.losses = true, .permutations = 60, .seed = trial}).spearman_p <= 0.1;
  }
  EXPECT_LE(small, 13);  // 6 are expected, with a deviation of 2.3
}

TEST(EnsembleAgreement, RefusesSizesThatThereAreNot) {
  const EstimatedAndTrue pool = skilled_pool(4);
  EXPECT_THAT([&] { ensemble_agreement(pool, 5, {}); }, testing::ThrowsMessage<Error>(testing::HasSubstr("1 to 4")));
  EXPECT_THROW(ensemble_agreement(pool, 0, {}), Error);
}

}  // namespace
}  // namespace nascent
