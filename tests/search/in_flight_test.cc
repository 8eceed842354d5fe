#include <gmock/gmock.h>

#include <set>

#include "errors.h"
#include "nascent/core/random.h"
#include "nascent/search/encoding.h"
#include "nascent/search/trace.h"

namespace nascent {
namespace {

// Every architecture has a worth of its own, and a validation costs 10 s an epoch.
class WorthJudge : public Judge {
 public:
  explicit WorthJudge(const std::shared_ptr<const Space>& space) : encoding_(space) {}

  Judgement judge_anew(const Genotype& genotype, const Budget& budget) override {
    double worth = 0;
    for (const int choice : encoding_.encode(genotype)) worth = 0.37 * worth + 1.7 * choice;
    return {worth, 10.0 * budget.epochs};
  }

 private:
  Encoding encoding_;
};

class InFlight : public testing::TestWithParam<std::string> {
 protected:
  std::unique_ptr<Strategy> strategy() const {
    StrategyOptions options;
    options.population = 4;
    return Strategy::Registry::instance().make(GetParam(),
                                               StrategySetting{.space = space_,
                                                               .budget = Budget(9),
                                                               .fidelities = {Budget(1), Budget(3), Budget(9)},
                                                               .options = options,
                                                               .seed = 3});
  }

  using Steps = std::vector<std::pair<Genotype, double>>;
  static Steps steps(const SearchTrace& trace) {
    Steps all;
    for (const Trial& trial : trace.trials) all.emplace_back(trial.proposal.genotype, trial.accuracy);
    return all;
  }

  // Validated by as many workers as are in flight, whose outcomes come in in any order.
  SearchTrace scattered(size_t in_flight, size_t most, uint64_t seed) const {
    WorthJudge judge(space_);
    RandomStream random(seed, "who is first");
    const auto proposing = strategy();
    SearchInFlight flight(*proposing, 1e9, most, in_flight);
    std::vector<std::pair<size_t, Proposal>> out;
    while (true) {
      while (auto next = flight.next()) out.push_back(std::move(*next));
      EXPECT_LE(out.size(), in_flight);
      if (out.empty()) return flight.trace();
      const auto chosen = out.begin() + random.below(static_cast<int64_t>(out.size()));
      flight.outcome(chosen->first, judge.judge(chosen->second.genotype, chosen->second.budget));
      out.erase(chosen);
    }
  }

  std::shared_ptr<const Space> space_ = find_space("nasbench201");
};

TEST_P(InFlight, TheTraceDependsOnHowManyAreAndOnNothingElse) {
  constexpr size_t kMost = 60;
  for (const size_t in_flight : {1, 2, 5}) {
    WorthJudge judge(space_);
    const auto proposing = strategy();
    const Steps expected = steps(search(*proposing, judge, 1e9, kMost, in_flight));
    EXPECT_EQ(expected.size(), kMost);
    for (const uint64_t seed : {1, 2, 3}) {
      EXPECT_TRUE(steps(scattered(in_flight, kMost, seed)) == expected) << in_flight << " in flight";
    }
  }
}

TEST_P(InFlight, ABudgetEndsTheSameTrace) {
  WorthJudge judge(space_);
  const auto proposing = strategy();
  const SearchTrace trace = search(*proposing, judge, 500, 1000, 4);
  EXPECT_LE(trace.trials.back().seconds, 500);
  EXPECT_GT(trace.trials.back().seconds, 400) << "the next would have ended later";
  const auto whole = steps(scattered(4, trace.trials.size() + 4, 5));
  const auto part = steps(trace);
  EXPECT_TRUE(std::equal(part.begin(), part.end(), whole.begin()));
}

INSTANTIATE_TEST_SUITE_P(Strategies, InFlight,
                         testing::Values("random", "rea", "reinforce", "bohb", "tpe", "local-search"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(InFlightStrategies, ThoseThatNeedEveryOutcomeSaySo) {
  EXPECT_TRUE(Strategy::Registry::instance().at("hnas").facts.sequential);
  EXPECT_TRUE(Strategy::Registry::instance().at("external").facts.sequential);
  EXPECT_FALSE(Strategy::Registry::instance().at("rea").facts.sequential);
}

}  // namespace
}  // namespace nascent
