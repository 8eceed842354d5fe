#include "nascent/train/schedule.h"

#include <gmock/gmock.h>

#include <cmath>

#include "nascent/core/error.h"

namespace nascent {
namespace {

ScheduleOptions named(const std::string& name) {
  ScheduleOptions options;
  options.schedule = name;
  return options;
}

TEST(Schedule, CosineFallsFromLrToMinimum) {
  auto options = named("cosine");
  options.lr_min = 0.001;
  EXPECT_DOUBLE_EQ(learning_rate(options, 0.025, 0, 50), 0.025);
  EXPECT_DOUBLE_EQ(learning_rate(options, 0.025, 25, 50), 0.013);
  EXPECT_NEAR(learning_rate(options, 0.025, 12.5, 50), 0.001 + 0.024 * (1 + std::sqrt(0.5)) / 2, 1e-15);
  EXPECT_DOUBLE_EQ(learning_rate(options, 0.025, 50, 50), 0.001);
  EXPECT_DOUBLE_EQ(learning_rate(options, 0.025, 60, 50), 0.001);
}

TEST(Schedule, CyclicStartsAnewInEveryCycle) {
  auto options = named("cyclic");
  options.step_epochs = 10;
  options.lr_min = 0.001;
  for (const double start : {0.0, 10.0, 20.0, 30.0}) {
    EXPECT_DOUBLE_EQ(learning_rate(options, 0.025, start, 40), 0.025);
    EXPECT_NEAR(learning_rate(options, 0.025, start + 5, 40), 0.013, 1e-15);
    EXPECT_NEAR(learning_rate(options, 0.025, start + 10 - 1e-9, 40), 0.001, 1e-15);
  }
  EXPECT_DOUBLE_EQ(learning_rate(options, 0.025, 40, 40), 0.001);
}

TEST(Schedule, LinearFallsInALine) {
  auto options = named("linear");
  EXPECT_DOUBLE_EQ(learning_rate(options, 0.5, 0, 10), 0.5);
  EXPECT_DOUBLE_EQ(learning_rate(options, 0.5, 2.5, 10), 0.375);
  EXPECT_DOUBLE_EQ(learning_rate(options, 0.5, 10, 10), 0);
  options.lr_min = 0.1;
  EXPECT_DOUBLE_EQ(learning_rate(options, 0.5, 5, 10), 0.3);
}

TEST(Schedule, StepDropsAndStopsAtTheMinimum) {
  auto options = named("step");
  options.step_epochs = 30;
  options.lr_min = 0.0005;
  EXPECT_DOUBLE_EQ(learning_rate(options, 0.1, 29.9, 90), 0.1);
  EXPECT_DOUBLE_EQ(learning_rate(options, 0.1, 30, 90), 0.01);
  EXPECT_DOUBLE_EQ(learning_rate(options, 0.1, 60, 90), 0.001);
  EXPECT_DOUBLE_EQ(learning_rate(options, 0.1, 95, 120), 0.0005);
}

TEST(Schedule, ConstantStays) {
  EXPECT_DOUBLE_EQ(learning_rate(named("constant"), 0.1, 0, 90), 0.1);
  EXPECT_DOUBLE_EQ(learning_rate(named("constant"), 0.1, 89, 90), 0.1);
}

TEST(Schedule, WarmUpRisesThenTheRestOfTheEpochsFollow) {
  auto options = named("linear");
  options.warmup_epochs = 5;
  EXPECT_DOUBLE_EQ(learning_rate(options, 0.5, 0, 250), 0);
  EXPECT_DOUBLE_EQ(learning_rate(options, 0.5, 2.5, 250), 0.25);
  EXPECT_DOUBLE_EQ(learning_rate(options, 0.5, 5, 250), 0.5);
  EXPECT_DOUBLE_EQ(learning_rate(options, 0.5, 127.5, 250), 0.25);
  EXPECT_DOUBLE_EQ(learning_rate(options, 0.5, 250, 250), 0);
}

TEST(Schedule, WarmUpMayOutlastTheRun) {
  auto options = named("cosine");
  options.warmup_epochs = 10;
  EXPECT_DOUBLE_EQ(learning_rate(options, 1, 4, 5), 0.4);
  EXPECT_TRUE(std::isfinite(learning_rate(options, 1, 10, 10)));
}

TEST(Schedule, UnknownNamesListTheKnown) {
  EXPECT_THAT([] { learning_rate(named("cosin"), 1, 0, 1); },
              testing::ThrowsMessage<Error>(testing::HasSubstr("Known: constant, cosine, cyclic, linear, step")));
}

}  // namespace
}  // namespace nascent
