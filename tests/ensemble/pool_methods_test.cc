#include <gmock/gmock.h>

#include <set>

#include "ensemble/tables.h"
#include "nascent/core/error.h"
#include "nascent/ensemble/ensemble_options.h"
#include "nascent/ensemble/method.h"
#include "nascent/ensemble/selection.h"
#include "nascent/score/score_cache.h"

namespace nascent {
namespace {

using namespace testing_ensemble;

// Every architecture answers as the text of its cell has it.
class MadeUpJudge : public EnsembleJudge {
 public:
  MadeUpJudge() : EnsembleJudge("", Combination::probabilities) {}

 protected:
  Predictions evaluate(const Genotype& genotype) override {
    const Labels truth = cyclic_labels(40, 4);
    const uint64_t seed = std::hash<std::string>()(ScoreCache::key(genotype));
    return {random_table(40, 4, truth, seed), truth};
  }
};

FoundEnsemble found_by(const EnsembleOptions& options, const Space& space, EnsembleJudge& judge) {
  return EnsembleMethod::Registry::instance().make(options.method, MethodSetup{options, space, judge, nullptr, 1});
}

// Of the 2^6 architectures of two operations: a mutation meets what was there before again and again.
TEST(NesRe, EvaluatesSoManyDifferentNetworks) {
  const auto space = without(*find_space("nasbench201"), {"none", "avg_pool_3x3", "nor_conv_3x3"});
  ASSERT_EQ(space->count(), 64);
  EnsembleOptions options;
  options.method = "nes-re";
  options.population = 6;
  options.parents = 3;
  options.networks = 40;
  MadeUpJudge judge;
  const FoundEnsemble found = found_by(options, *space, judge);
  EXPECT_EQ(judge.networks(), 40);
  std::set<std::string> different;
  for (const Genotype& member : found.members) different.insert(ScoreCache::key(member));
  EXPECT_EQ(different.size(), 3u);
}

TEST(NesRe, TheTracesBestIsThatOfTheEnsemblesSoFar) {
  const auto space = find_space("nasbench201");
  EnsembleOptions options;
  options.method = "nes-re";
  options.population = 4;
  options.parents = 4;  // more than members: the parents' loss is of another ensemble
  options.members = 2;
  options.networks = 12;
  MadeUpJudge judge;
  const FoundEnsemble found = found_by(options, *space, judge);
  ASSERT_EQ(found.trace.size(), 8u);  // one for every child
  double best = found.trace[0].at("loss").get<double>();
  for (const Json& line : found.trace) {
    best = std::min(best, line.at("loss").get<double>());
    EXPECT_DOUBLE_EQ(line.at("best").get<double>(), best);
  }
  EXPECT_EQ(found.trace.back().at("networks"), 12);
  EXPECT_DOUBLE_EQ(found.loss, best);
  EXPECT_NEAR(judge.loss(found.members), best, 1e-5);
}

// A population that is the whole space ends the evolution, and not in an endless loop.
TEST(NesRe, EndsWhereThereIsNothingNew) {
  const auto space = without(*find_space("nasbench201"), {"none", "avg_pool_3x3", "nor_conv_3x3"});
  EnsembleOptions options;
  options.method = "nes-re";
  options.population = 64;
  options.networks = 70;
  MadeUpJudge judge;
  EXPECT_EQ(found_by(options, *space, judge).members.size(), 3u);
  EXPECT_EQ(judge.networks(), 64);
}

// 400 tables of 10 000 images and 10 classes are 400 * 10 000 * 10 * 4 bytes = 160 MB: once, and not once more for the
// selection.
TEST(Pool, IsNotCopied) {
  const auto space = find_space("nasbench201");
  MadeUpJudge judge;
  std::vector<Genotype> pool;
  for (uint64_t i = 0; i < 5; ++i) {
    RandomStream random(1, "pool", {i});
    pool.push_back(space->sample(random));
  }
  const SelectionPool candidates(judge.tables(pool), judge.labels(), judge.combine());
  for (size_t i = 0; i < pool.size(); ++i)
    EXPECT_EQ(candidates.member(i).values.data(), judge.predictions(pool[i]).values.data());
}

TEST(Selection, WhatCannotBeDoneIsRefusedBeforeThePoolIsThere) {
  const auto refused = [](const std::string& name, size_t pool, int size, Combination how) {
    try {
      check_selection(name, pool, size, how);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  using testing::HasSubstr;
  EXPECT_THAT(refused("forward", 4, 5, Combination::probabilities), HasSubstr("has only 4"));
  EXPECT_THAT(refused("exhaustive", 400, 4, Combination::probabilities), HasSubstr("--selection forward or beam"));
  EXPECT_THAT(refused("stacking", 4, 2, Combination::logits), HasSubstr("--combine probabilities"));
  EXPECT_EQ(refused("exhaustive", 10, 5, Combination::logits), "");
}

}  // namespace
}  // namespace nascent
