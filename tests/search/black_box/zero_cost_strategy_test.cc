#include <gtest/gtest.h>
#include <unistd.h>

#include "nascent/core/files.h"
#include "nascent/search/strategy.h"

namespace nascent {
namespace {

class ZeroCost : public testing::Test {
 protected:
  void SetUp() override {
    file_ = std::filesystem::temp_directory_path() / fmt::format("nascent-zero-cost-{}.csv", ::getpid());
    std::string text = "arch,trace,kappa\n";
    for (int i = 0; i < 20; ++i) {
      text += fmt::format("{},{},{}\n", to_text(find_genotype(fmt::format("nasbench201:{}", i)), "nasbench201"),
                          (i * 7) % 20, 20 - i);
    }
    write_file(file_, text);
    setting_.space = find_space("nasbench201");
    setting_.options.metrics = file_.string();
    setting_.options.population = 4;
  }
  void TearDown() override { std::filesystem::remove(file_); }

  std::filesystem::path file_;
  StrategySetting setting_;
};

TEST_F(ZeroCost, ValidatesTheBestMetricFirstAndEverythingOnce) {
  const auto strategy = Strategy::Registry::instance().make("zero-cost", setting_);
  for (int value = 19; value >= 0; --value) {
    const auto proposal = strategy->propose();
    ASSERT_TRUE(proposal);
    const auto index = static_cast<int>(setting_.space->index_of(proposal->genotype));
    EXPECT_EQ((index * 7) % 20, value);
    strategy->tell(*proposal, 0);
  }
  EXPECT_FALSE(strategy->propose());
}

TEST_F(ZeroCost, LowIsBetterForKappa) {
  setting_.options.metric = "kappa";
  const auto strategy = Strategy::Registry::instance().make("zero-cost", setting_);
  EXPECT_EQ(setting_.space->index_of(strategy->propose()->genotype), 19);
}

TEST_F(ZeroCost, WarmUpFoundsThePopulationOnTheBest) {
  const auto strategy = Strategy::Registry::instance().make("rea-warm-up", setting_);
  for (int value = 19; value >= 16; --value) {
    const auto proposal = strategy->propose();
    EXPECT_EQ((static_cast<int>(setting_.space->index_of(proposal->genotype)) * 7) % 20, value);
    strategy->tell(*proposal, value);
  }
  EXPECT_TRUE(strategy->propose());
}

}  // namespace
}  // namespace nascent
