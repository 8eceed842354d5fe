#include "nascent/run/subprocess.h"

#include <gtest/gtest.h>

namespace nascent {
namespace {

TEST(Subprocess, FeedsInputAndCollectsOutput) {
  const std::string input(1 << 20, 'x');
  const auto output = run_program({"cat"}, input);
  ASSERT_TRUE(output.has_value());
  EXPECT_EQ(output->out, input);
  EXPECT_EQ(output->exit_code, 0);
}

TEST(Subprocess, ArgumentsPassNoShell) {
  const auto output = run_program({"echo", "$HOME; `id` > /dev/null"}, "");
  ASSERT_TRUE(output.has_value());
  EXPECT_EQ(output->out, "$HOME; `id` > /dev/null\n");
}

TEST(Subprocess, InputThatIsNeverReadDoesNotBlock) {
  const auto output = run_program({"true"}, std::string(1 << 22, 'x'));
  ASSERT_TRUE(output.has_value());
  EXPECT_EQ(output->exit_code, 0);
}

TEST(Subprocess, ReportsFailureAndErrors) {
  const auto output = run_program({"sh", "-c", "echo wrong >&2; exit 3"}, "");
  ASSERT_TRUE(output.has_value());
  EXPECT_EQ(output->exit_code, 3);
  EXPECT_EQ(output->err, "wrong\n");
}

TEST(Subprocess, MissingProgramIsNothing) { EXPECT_FALSE(run_program({"nascent-no-such-program"}, "").has_value()); }

TEST(Subprocess, KillsWhatTakesTooLong) {
  const auto output = run_program({"sleep", "60"}, "", std::chrono::milliseconds(50));
  ASSERT_TRUE(output.has_value());
  EXPECT_EQ(output->exit_code, 128 + 9);
}

}  // namespace
}  // namespace nascent
