#include "nascent/search/strategy.h"

#include <set>

#include "nascent/search/comparison.h"
#include "nascent/search/encoding.h"
#include "nascent/search/table_judge.h"
#include "nascent/search/trace.h"
#include "nascent/space/cell_space.h"
#include "table/fixtures.h"

namespace nascent {
namespace {

using testing::HasSubstr;

int convolutions(const Genotype& genotype) {
  int count = 0;
  for (const auto& node : genotype.cells[0].nodes) {
    for (const auto& edge : node.edges) count += edge.op == "nor_conv_3x3";
  }
  return count;
}

// Differences on the six edges.
int distance(const Genotype& a, const Genotype& b) {
  int count = 0;
  for (size_t n = 0; n < a.cells[0].nodes.size(); ++n) {
    for (size_t e = 0; e < a.cells[0].nodes[n].edges.size(); ++e) {
      count += a.cells[0].nodes[n].edges[e].op != b.cells[0].nodes[n].edges[e].op;
    }
  }
  return count;
}

struct Clock {
  std::string data = "cifar10", epochs = "12";
  double budget = 12000;
};

SearchTrace search_table(const BenchmarkTable& table, const std::string& strategy, const Clock& clock,
                         const StrategyOptions& options, uint64_t seed) {
  TableJudge judge(table, clock.data, parse_budget(clock.epochs));
  const auto searcher = Strategy::Registry::instance().make(strategy, StrategySetting{.space = table.space(),
                                                                                      .budget = judge.budget(),
                                                                                      .fidelities = judge.fidelities(),
                                                                                      .options = options,
                                                                                      .seed = seed});
  return search(*searcher, judge, clock.budget);
}

// Every 3x3 convolution is worth ten points, and a validation costs 120 s.
class StrategyTest : public TableTest {
 protected:
  static double quality(const Genotype& genotype) { return 40 + 10 * convolutions(genotype); }

  static StrategySetting setting(uint64_t seed) {
    return {.space = find_space("nasbench201"),
            .budget = Budget(12),
            .fidelities = {Budget(4, 12), Budget(12)},
            .options = {},
            .seed = seed};
  }

  // The best of so many proposals at the full budget, over many seeds.
  static double mean_best(const std::string& name, int proposals) {
    double sum = 0;
    constexpr int kSeeds = 30;
    for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
      StrategySetting set = setting(seed);
      set.fidelities = {set.budget};
      const auto strategy = Strategy::Registry::instance().make(name, set);
      double best = 0;
      for (int i = 0; i < proposals; ++i) {
        const auto proposal = strategy->propose();
        if (!proposal) break;
        strategy->tell(*proposal, quality(proposal->genotype));
        best = std::max(best, quality(proposal->genotype));
      }
      sum += best;
    }
    return sum / kSeeds;
  }
};

TEST_F(StrategyTest, LearnersBeatRandomSearch) {
  const double random = mean_best("random", 80);
  for (const std::string name : {"rea", "tpe", "bohb", "local-search"}) {
    EXPECT_GT(mean_best(name, 80), random + 2) << name;
  }
  // The policy gradient is slow.
  EXPECT_GT(mean_best("reinforce", 400), mean_best("random", 400) + 2);
}

TEST_F(StrategyTest, TheSameSeedGivesTheSameSearch) {
  const BenchmarkTable table = made_up(quality);
  for (const std::string& name : Strategy::Registry::instance().names()) {
    const StrategyFacts& facts = Strategy::Registry::instance().at(name).facts;
    if (facts.pool || !facts.reproducible) continue;  // needs metrics, or a command
    const Clock clock{.data = "toy", .epochs = "12", .budget = 3000};
    const SearchTrace a = search_table(table, name, clock, {}, 1), b = search_table(table, name, clock, {}, 1);
    const SearchTrace c = search_table(table, name, clock, {}, 2);
    ASSERT_EQ(a.trials.size(), b.trials.size());
    bool same_as_c = a.trials.size() == c.trials.size();
    for (size_t i = 0; i < a.trials.size(); ++i) {
      EXPECT_EQ(a.trials[i].proposal.genotype, b.trials[i].proposal.genotype) << name;
      same_as_c = same_as_c && a.trials[i].proposal.genotype == c.trials[i].proposal.genotype;
    }
    EXPECT_FALSE(same_as_c) << name;
    EXPECT_LE(a.trials.back().seconds, 3000) << name;
  }
}

TEST_F(StrategyTest, EvolutionMutatesTheLivingAndTheOldestDie) {
  StrategySetting set = setting(1);
  set.options.population = 5;
  const auto strategy = Strategy::Registry::instance().make("rea", set);
  std::vector<Genotype> history;
  for (int i = 0; i < 60; ++i) {
    const auto proposal = strategy->propose();
    if (i >= 5) {
      int nearest = 6;
      for (size_t p = history.size() - 5; p < history.size(); ++p) {
        nearest = std::min(nearest, distance(history[p], proposal->genotype));
      }
      EXPECT_LE(nearest, 1) << "child " << i << " has no parent among the living";
    }
    history.push_back(proposal->genotype);
    strategy->tell(*proposal, quality(proposal->genotype));
  }
}

TEST_F(StrategyTest, LocalSearchClimbsToTheTopAndStartsAgain) {
  const auto strategy = Strategy::Registry::instance().make("local-search", setting(3));
  std::set<std::string> seen;
  int tops = 0, after_top = 0;
  for (int i = 0; i < 400; ++i) {
    const auto proposal = strategy->propose();
    ASSERT_TRUE(proposal.has_value());
    EXPECT_TRUE(seen.insert(to_text(proposal->genotype, "nasbench201")).second) << "validated twice";
    strategy->tell(*proposal, quality(proposal->genotype));
    tops += convolutions(proposal->genotype) == 6;
    after_top += tops > 0 && convolutions(proposal->genotype) <= 2;
    // From anywhere six moves suffice, and each looks at 24 neighbours at most.
    if (i == 6 * 24 + 24) {
      EXPECT_EQ(tops, 1);
    }
  }
  EXPECT_EQ(tops, 1);
  EXPECT_GT(after_top, 20) << "no restart";
}

TEST_F(StrategyTest, LocalSearchEndsWhereAllIsKnown) {
  StrategySetting set = setting(1);
  set.space = std::make_shared<CellSpace>(SpaceDescription{
      .name = "tiny", .ops = {"skip_connect", "sep_conv_3x3"}, .cells = {dense_cell("normal", 2, 1, 2)}});
  const auto strategy = Strategy::Registry::instance().make("local-search", set);
  int proposals = 0;
  while (const auto proposal = strategy->propose()) {
    strategy->tell(*proposal, 50);
    ASSERT_LE(++proposals, 4);
  }
  EXPECT_EQ(proposals, 4);
}

TEST_F(StrategyTest, BohbHalvesAndPromotesTheBest) {
  const auto strategy = Strategy::Registry::instance().make("bohb", setting(5));
  std::vector<Proposal> proposals;
  std::vector<std::string> budgets;
  for (int i = 0; i < 12; ++i) {
    const auto proposal = strategy->propose();
    strategy->tell(*proposal, quality(proposal->genotype));
    proposals.push_back(*proposal);
    budgets.push_back(proposal->budget.text());
  }
  // Three at a third of the budget, the best of them at all of it; then a bracket of two at the full budget.
  const std::vector<std::string> bracket = {"4of12", "4of12", "4of12", "12", "12", "12"};
  for (int i = 0; i < 12; ++i) EXPECT_EQ(budgets[i], bracket[i % 6]) << i;
  for (const int start : {0, 6}) {
    double best = 0;
    for (int i = 0; i < 3; ++i) best = std::max(best, quality(proposals[start + i].genotype));
    EXPECT_EQ(quality(proposals[start + 3].genotype), best);
  }
}

TEST_F(StrategyTest, FidelitiesAreWhatTheTableHas) {
  const BenchmarkTable table = made_up(quality);
  EXPECT_THAT(fidelities(table, "toy", Budget(12)), testing::ElementsAre(Budget(4, 12), Budget(12)));
  TableBuilder builder(find_space("nasbench201"), "two schedules");
  const size_t row = builder.add(builder.space().at(0), -1);
  builder.set(row, parse_measure("toy_valid12"), 50);
  builder.set(row, parse_measure("toy_valid200"), 60);
  builder.write(path("two.table"));
  EXPECT_THAT(fidelities(BenchmarkTable(path("two.table")), "toy", Budget(12)),
              testing::ElementsAre(Budget(12), Budget(200)));
}

// What a search proposes does not depend on test accuracies.
TEST_F(StrategyTest, NoStrategySeesTheTestColumn) {
  const auto table_with = [&](double test, const std::string& name) {
    TableBuilder builder(find_space("nasbench201"), "toy");
    builder.space().enumerate([&](const Genotype& genotype) {
      const size_t row = builder.add(genotype, -1);
      builder.set(row, parse_measure("toy_valid12"), quality(genotype));
      builder.set(row, parse_measure("toy_test12"), test);
      builder.set(row, parse_measure("toy_train_seconds12"), 120);
      return true;
    });
    builder.write(path(name));
    return BenchmarkTable(path(name));
  };
  const BenchmarkTable low = table_with(10, "low.table"), high = table_with(99, "high.table");
  for (const std::string& name : Strategy::Registry::instance().names()) {
    const StrategyFacts& facts = Strategy::Registry::instance().at(name).facts;
    if (facts.pool || !facts.reproducible) continue;
    const Clock clock{.data = "toy", .epochs = "12", .budget = 3000};
    const SearchTrace a = search_table(low, name, clock, {}, 1), b = search_table(high, name, clock, {}, 1);
    EXPECT_EQ(a.incumbent()->proposal.genotype, b.incumbent()->proposal.genotype) << name;
  }
}

TEST_F(StrategyTest, MistakesAreNamed) {
  const BenchmarkTable table = made_up(quality);
  const auto refused = [&](const std::string& strategy, const Clock& clock) {
    return error_of([&] { search_table(table, strategy, clock, {}, 1); });
  };
  EXPECT_THAT(refused("rae", {.data = "toy"}), HasSubstr("Did you mean 'rea'?"));
  EXPECT_THAT(refused("rea", {.data = "tov"}), HasSubstr("Did you mean 'toy'?"));
  EXPECT_THAT(refused("rea", {.data = "toy", .epochs = "200"}), HasSubstr("lacks the number of epochs '200'"));
  EXPECT_THAT(refused("rea", {.data = "toy", .epochs = "x"}), HasSubstr("'x' is not a number of epochs"));
}

TEST(Comparison, SpreadByHand) {
  EXPECT_EQ(spread_of({1, 2, 3}).mean, 2);
  EXPECT_EQ(spread_of({1, 2, 3}).deviation, 1);
  EXPECT_EQ(spread_of({5}).deviation, 0);
}

}  // namespace
}  // namespace nascent
