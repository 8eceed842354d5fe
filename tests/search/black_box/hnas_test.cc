#include "nascent/search/black_box/hnas.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "errors.h"
#include "nascent/core/checked_lines.h"
#include "nascent/core/error.h"
#include "nascent/core/files.h"
#include "nascent/search/black_box/metric_pool.h"
#include "nascent/search/strategy.h"

namespace nascent {
namespace {

using testing::HasSubstr;

// Metrics spread over an order of magnitude; the condition number has no part in the quality.
std::vector<PoolEntry> made_up_pool(int count) {
  RandomStream random(5, "pool");
  std::vector<PoolEntry> pool;
  for (int i = 0; i < count; ++i) pool.push_back({std::exp(random.uniform(0, 2.3)), std::exp(random.uniform(0, 3))});
  return pool;
}

// Best at a metric of 4: neither the largest nor the smallest, as Fig. 7.4 of the thesis has it.
double quality(const PoolEntry& entry) { return 90 - 10 * std::abs(std::log(entry.metric / 4)); }

TEST(Hnas, CandidateMinimisesTheObjectiveByHand) {
  // kappa / M: 2, 1, 3; M^2: 1, 4, 9.
  const std::vector<PoolEntry> pool = {{1, 2}, {2, 2}, {3, 9}};
  const Hnas hnas(pool, {});
  EXPECT_EQ(hnas.candidate(0, 0), 1u) << "mu = 0 leaves kappa / M";
  EXPECT_EQ(hnas.candidate(1, 9), 2u) << "3 + 0 against 1 + 25 and 2 + 64";
  EXPECT_EQ(hnas.candidate(0.05, 9), 1u) << "1 + 1.25 against 3";
  EXPECT_EQ(hnas.candidate(1, 0.5), 0u);
  EXPECT_EQ(hnas.candidate(0.05, 0.5), 1u) << "1 + 0.6125 against 2 + 0.0125";
}

TEST(Hnas, ParametersSpanTheMetricsRange) {
  const Hnas hnas({{1, 1}, {2, 1}, {3, 1}, {10, 1}}, {});
  EXPECT_EQ(hnas.parameters_at({0.5, 0}).second, 1);
  EXPECT_EQ(hnas.parameters_at({0.5, 1}).second, 100);
  EXPECT_NEAR(hnas.parameters_at({0.5, 0}).first, hnas.typical_mu(), 1e-12);
  EXPECT_NEAR(hnas.parameters_at({1, 0}).first / hnas.parameters_at({0, 0}).first, 1e8, 1);
}

TEST(Hnas, StepsGoToNewArchitecturesOnlyAndEndWithThePool) {
  const std::vector<PoolEntry> pool = made_up_pool(30);
  Hnas hnas(pool, {.seed = 2});
  std::set<size_t> seen;
  while (const auto place = hnas.propose()) {
    EXPECT_TRUE(seen.insert(*place).second);
    const auto [mu, nu] = hnas.parameters();
    EXPECT_EQ(hnas.candidate(mu, nu), *place) << "the parameters that named it";
    hnas.tell(quality(pool[*place]));
    ASSERT_LE(seen.size(), pool.size());
  }
  EXPECT_GT(seen.size(), 5u);
}

TEST(Hnas, WhatCannotBeUsedIsNeverProposed) {
  std::vector<PoolEntry> pool = {{NAN, 1}, {-1, 1}, {0, 1}, {1, INFINITY}, {1, NAN}, {2, 3}, {INFINITY, 1}};
  Hnas hnas(pool, {});
  EXPECT_EQ(hnas.usable(), 1u);
  EXPECT_EQ(hnas.propose(), 5u);
  hnas.tell(50);
  EXPECT_EQ(hnas.best(), 5u);
  EXPECT_FALSE(hnas.propose().has_value());
  pool.erase(pool.begin() + 5);
  EXPECT_THAT(error_of([&] { Hnas(pool, {}); }), HasSubstr("of 6 architectures none"));
}

class HnasAcquisition : public testing::TestWithParam<std::string> {};

// Twenty steps on a pool of 2000 come closer to the best metric than twenty drawn at random, for most seeds.
TEST_P(HnasAcquisition, FindsTheBestMetric) {
  const std::vector<PoolEntry> pool = made_up_pool(2000);
  int ahead = 0;
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    Hnas hnas(pool, {.acquisition = GetParam(), .seed = seed});
    RandomStream random(seed, "rival");
    double rival = 0;
    for (int step = 0; step < 20; ++step) {
      const auto place = hnas.propose();
      ASSERT_TRUE(place.has_value());
      hnas.tell(quality(pool[*place]));
      rival = std::max(rival, quality(pool[random.below(2000)]));
    }
    ahead += quality(pool[hnas.best()]) > rival;
    EXPECT_GT(quality(pool[hnas.best()]), 89);
  }
  EXPECT_GE(ahead, 7);
}

INSTANTIATE_TEST_SUITE_P(All, HnasAcquisition, testing::Values("ei", "ucb"));

TEST(Hnas, TheSameSeedGivesTheSameSteps) {
  const std::vector<PoolEntry> pool = made_up_pool(300);
  Hnas a(pool, {.seed = 4}), b(pool, {.seed = 4});
  for (int step = 0; step < 15; ++step) {
    const auto place = a.propose();
    EXPECT_EQ(place, b.propose());
    a.tell(quality(pool[*place]));
    b.tell(quality(pool[*place]));
  }
}

const std::string kNone = "|none~0|+|none~0|none~1|+|none~0|none~1|none~2|";
const std::string kSkip = "|skip_connect~0|+|none~0|none~1|+|none~0|none~1|none~2|";

class MetricPoolTest : public testing::Test {
 protected:
  std::string file(const std::string& text) {
    path_ = testing::TempDir() + "/nascent-metric-pool-test";
    write_file(path_, text);
    return path_;
  }
  ~MetricPoolTest() override { std::filesystem::remove(path_); }
  std::string path_;
};

TEST_F(MetricPoolTest, ReadsCsv) {
  const auto space = find_space("nasbench201");
  const auto csv =
      read_metric_pool(file("arch,trace,kappa\n" + kNone + ",1.5,20\n" + kSkip + ",2.5,\n"), "trace", *space);
  ASSERT_EQ(csv.entries.size(), 2u);
  EXPECT_EQ(csv.architecture(0), parse_genotype(kNone));
  EXPECT_EQ(csv.entries[0].metric, 1.5);
  EXPECT_EQ(csv.entries[0].kappa, 20);
  EXPECT_TRUE(std::isnan(csv.entries[1].kappa));
}

// The scorer adds what is missing: of architectures that were scored in two goes, no line has both numbers.
TEST_F(MetricPoolTest, ReadsWhatTheLinesOfACacheSayTogether) {
  const auto space = find_space("nasbench201");
  const std::string only = "|avg_pool_3x3~0|+|none~0|none~1|+|none~0|none~1|none~2|";
  std::string text = checked_line(R"(nascent-scores 1 {"space":"nasbench201"})");
  for (const std::string& line : {kNone + "\ttrace=1", kSkip + "\tkappa=30\ttrace=3", kNone + "\tkappa=20",
                                  only + "\ttrace=5", kNone + "\tsnip=7\ttrace=1.5"}) {
    text += checked_line(line);
  }
  file(text + "12345678\t" + kSkip + "\ttrace=9\n");
  const std::string cache = path_ + ".scores";
  std::filesystem::rename(path_, cache);
  const MetricPool pool = read_metric_pool(cache, "trace", *space);
  std::filesystem::remove(cache);
  ASSERT_EQ(pool.entries.size(), 2u);
  EXPECT_EQ(pool.architecture(0), parse_genotype(kNone));
  EXPECT_EQ(pool.entries[0].metric, 1.5);
  EXPECT_EQ(pool.entries[0].kappa, 20);
  EXPECT_EQ(pool.architecture(1), parse_genotype(kSkip));
  EXPECT_EQ(pool.entries[1].metric, 3);
}

// The zero-cost form of GraSP is negative for about half of all architectures; none of them was ever proposed.
TEST_F(MetricPoolTest, HnasTakesGraspByItsMagnitude) {
  StrategySetting setting{.space = find_space("nasbench201")};
  setting.options.metrics = file("arch,grasp,kappa\n" + kSkip + ",-2,20\n");
  setting.options.metric = "grasp";
  const auto strategy = Strategy::Registry::instance().make("hnas", setting);
  const auto proposal = strategy->propose();
  ASSERT_TRUE(proposal.has_value());
  EXPECT_EQ(proposal->genotype, parse_genotype(kSkip));
}

TEST_F(MetricPoolTest, WhatIsMissingIsNamed) {
  const auto space = find_space("nasbench201");
  const std::string csv = "arch,trace,kappa\n" + kNone + ",1.5,20\n";
  EXPECT_THAT(error_of([&] { read_metric_pool(file(csv), "trcae", *space); }), HasSubstr("Did you mean 'trace'?"));
  EXPECT_THAT(error_of([&] { read_metric_pool(file("a,b\n"), "trace", *space); }), HasSubstr("no column 'arch'"));
  EXPECT_THAT(error_of([&] { read_metric_pool("/nonexistent", "trace", *space); }), HasSubstr("/nonexistent"));
  EXPECT_THAT(error_of([&] { Strategy::Registry::instance().make("hnas", StrategySetting{.space = space}); }),
              HasSubstr("--pool FILE"));
}

}  // namespace
}  // namespace nascent
