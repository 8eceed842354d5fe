#include "nascent/ensemble/selection.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "ensemble/tables.h"
#include "nascent/core/error.h"

namespace nascent {
namespace {

using namespace testing_ensemble;

struct Candidates {
  Labels labels;
  Members members;
  Selected select(const std::string& name, int size, Combination how = Combination::probabilities) const {
    const SelectionPool pool(members, labels, how);
    return select_members(name, {pool, size});
  }
  double loss_of(const std::vector<size_t>& chosen, Combination how = Combination::probabilities) const {
    Members few;
    for (const size_t member : chosen) few.push_back(members[member]);
    return negative_log_likelihood(combine(few, how), labels);
  }
};

Candidates random_candidates(uint64_t seed, size_t count) {
  Candidates result{cyclic_labels(60, 4), {}};
  for (size_t m = 0; m < count; ++m) {
    const double skill = 0.3 * static_cast<double>(m % 4);
    result.members.push_back(random_table(60, 4, result.labels, 100 * seed + m, skill, 1.5));
  }
  return result;
}

// Two classes, of which the first is always right.
Candidates two_classes(const std::vector<std::vector<float>>& truths) {
  Candidates result{Labels(truths[0].size(), 0), {}};
  for (const auto& truth : truths) {
    std::vector<std::vector<float>> rows;
    for (const float p : truth) rows.push_back({p, 1 - p});
    result.members.push_back(table(rows));
  }
  return result;
}

std::vector<size_t> sorted(std::vector<size_t> members) {
  std::sort(members.begin(), members.end());
  return members;
}

TEST(Selection, RunningSumsGiveTheLossOfTheCombination) {
  const Candidates pool = random_candidates(1, 8);
  for (const auto how : {Combination::probabilities, Combination::logits}) {
    const SelectionPool candidates(pool.members, pool.labels, how);
    RunningEnsemble ensemble(candidates);
    ensemble.add(3);
    EXPECT_NEAR(ensemble.loss_with(5), pool.loss_of({3, 5}, how), 1e-5);
    ensemble.add(5);
    ensemble.add(5);
    EXPECT_NEAR(ensemble.loss(), pool.loss_of({3, 5, 5}, how), 1e-5);
    EXPECT_NEAR(ensemble.loss_with(0), pool.loss_of({3, 5, 5, 0}, how), 1e-5);
  }
}

// All 56 triples of 8: forward selection is never below the best, a beam lies between the two, and what each says of
// its own loss is true.
TEST(Selection, ForwardAgainstAllTriples) {
  for (uint64_t seed = 0; seed < 10; ++seed) {
    const Candidates pool = random_candidates(seed, 8);
    for (const auto how : {Combination::probabilities, Combination::logits}) {
      double lowest = 1e9;
      for (size_t a = 0; a < 8; ++a) {
        for (size_t b = 0; b < a; ++b) {
          for (size_t c = 0; c < b; ++c) lowest = std::min(lowest, pool.loss_of({a, b, c}, how));
        }
      }
      const Selected all = pool.select("exhaustive", 3, how), greedy = pool.select("forward", 3, how);
      const Selected beam = pool.select("beam", 3, how), top = pool.select("top", 3, how);
      EXPECT_EQ(all.judged, 56);
      EXPECT_EQ(greedy.judged, 8 + 7 + 6);
      EXPECT_NEAR(all.loss, lowest, 1e-5);
      EXPECT_GE(greedy.loss, all.loss - 1e-6);
      EXPECT_LE(beam.loss, greedy.loss + 1e-6);
      EXPECT_GE(beam.loss, all.loss - 1e-6);
      EXPECT_GE(top.loss, all.loss - 1e-6);
      for (const Selected& found : {all, greedy, beam, top})
        EXPECT_NEAR(found.loss, pool.loss_of(found.members, how), 1e-5);
    }
  }
}

// Every member is good on an image of its own and equally bad elsewhere: the loss of a set is a sum over its members.
TEST(Selection, ForwardIsExactWhereLossesAreAdditive) {
  std::vector<std::vector<float>> truths(8, std::vector<float>(8, 0.2f));
  const std::vector<float> own = {0.5f, 0.9f, 0.3f, 0.8f, 0.25f, 0.6f, 0.95f, 0.4f};
  for (size_t m = 0; m < 8; ++m) truths[m][m] = own[m];
  const Candidates pool = two_classes(truths);
  const Selected greedy = pool.select("forward", 3);
  EXPECT_THAT(sorted(greedy.members), testing::ElementsAre(1, 3, 6));
  EXPECT_NEAR(greedy.loss, pool.select("exhaustive", 3).loss, 1e-6);
}

// The best alone, (0.6, 0.6), stands in the way of the best pair, (1, 0.3) with (0.3, 1).
TEST(Selection, GreedLoses) {
  const Candidates pool = two_classes({{0.6f, 0.6f}, {1.0f, 0.3f}, {0.3f, 1.0f}});
  const Selected greedy = pool.select("forward", 2), all = pool.select("exhaustive", 2);
  EXPECT_THAT(sorted(all.members), testing::ElementsAre(1, 2));
  EXPECT_NEAR(all.loss, -std::log(0.65), 1e-6);
  EXPECT_EQ(greedy.members[0], 0u);
  EXPECT_NEAR(greedy.loss, -(std::log(0.8) + std::log(0.45)) / 2, 1e-6);
  EXPECT_THAT(sorted(pool.select("beam", 2).members), testing::ElementsAre(1, 2));
}

TEST(Selection, ReplacementRepeatsTheBest) {
  const Candidates pool = two_classes({{0.9f, 0.9f}, {0.2f, 0.3f}, {0.3f, 0.2f}});
  EXPECT_THAT(pool.select("forward-with-replacement", 3).members, testing::ElementsAre(0, 0, 0));
  EXPECT_THAT(sorted(pool.select("forward", 3).members), testing::ElementsAre(0, 1, 2));
}

// Two members, each right on its own part of the images: the weights are the parts.
TEST(Selection, StackingWeighsByWhatEachKnows) {
  const Candidates pool =
      two_classes({{1.0f, 1.0f, 1.0f, 0.0f}, {0.0f, 0.0f, 0.0f, 1.0f}, {0.01f, 0.01f, 0.01f, 0.01f}});
  const Selected found = pool.select("stacking", 2);
  ASSERT_THAT(found.members, testing::ElementsAre(0, 1));
  EXPECT_NEAR(found.weights[0], 0.75, 1e-3);
  EXPECT_NEAR(found.loss, -(3 * std::log(0.75) + std::log(0.25)) / 4, 1e-4);
  EXPECT_LE(found.loss, pool.select("exhaustive", 2).loss);
  EXPECT_THROW(pool.select("stacking", 2, Combination::logits), Error);
}

TEST(Selection, RefusesWhatCannotBe) {
  const Candidates pool = random_candidates(1, 4);
  EXPECT_THAT([&] { pool.select("forward", 5); }, testing::ThrowsMessage<Error>(testing::HasSubstr("only 4")));
  EXPECT_THROW(pool.select("forward", 0), Error);
  EXPECT_THAT([&] { pool.select("forwad", 2); }, testing::ThrowsMessage<Error>(testing::HasSubstr("'forward'")));
  Candidates large = random_candidates(1, 4);
  large.members.resize(200, large.members[0]);
  EXPECT_THAT([&] { large.select("exhaustive", 10); }, testing::ThrowsMessage<Error>(testing::HasSubstr("forward")));
}

}  // namespace
}  // namespace nascent
