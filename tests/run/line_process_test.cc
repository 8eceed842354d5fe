#include "nascent/run/line_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>

#include "errors.h"
#include "nascent/core/interrupt.h"

namespace nascent {
namespace {

using testing::HasSubstr;

double seconds_of(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

TEST(LineProcess, LinesGoBothWays) {
  LineProcess program("while read line; do echo \"<$line>\"; done");
  for (const std::string text : {"one", "two words", ""}) {
    ASSERT_TRUE(program.write(text));
    EXPECT_EQ(program.read(), "<" + text + ">");
  }
}

TEST(LineProcess, TheEndIsTold) {
  LineProcess ended("exit 3");
  EXPECT_EQ(ended.read(), std::nullopt);
  EXPECT_EQ(ended.ended_how(), "ended with exit code 3");
  LineProcess killed("kill -9 $$");
  EXPECT_EQ(killed.read(), std::nullopt);
  EXPECT_THAT(killed.ended_how(), HasSubstr("signal 9"));
  LineProcess missing("no-such-program-anywhere 2> /dev/null");
  EXPECT_EQ(missing.read(), std::nullopt);
  EXPECT_THAT(missing.ended_how(), HasSubstr("there is no such program"));
}

TEST(LineProcess, ALastLineWithoutItsEndDoesNotCount) {
  LineProcess program("printf 'whole\\nhalf'");
  EXPECT_EQ(program.read(), "whole");
  EXPECT_EQ(program.read(), std::nullopt);
}

// A write to a program that ended raises SIGPIPE, which ends whoever does not expect it.
TEST(LineProcess, WritingToTheDeadIsNoDeath) {
  LineProcess program("exit 0");
  EXPECT_EQ(program.read(), std::nullopt);
  bool written = true;
  for (int i = 0; i < 10 && written; ++i) written = program.write(std::string(100'000, 'x'));
  EXPECT_FALSE(written);
}

// Both pipes are full: each would wait for the other.
TEST(LineProcess, NeitherSideWaitsForTheOther) {
  LineProcess program("seq 100000; cat > /dev/null");
  ASSERT_TRUE(program.write(std::string(1'000'000, 'x')));
  for (int i = 1; i <= 100000; ++i) ASSERT_EQ(program.read(), std::to_string(i));
}

TEST(LineProcess, ALineHasItsLimits) {
  LineProcess program("head -c 3000000 /dev/zero | tr '\\0' x; sleep 60");
  EXPECT_THAT(error_of([&] { program.read(); }), HasSubstr("more than 1048576 bytes"));
}

TEST(LineProcess, CtrlCEndsTheWaiting) {
  LineProcess program("sleep 60");
  request_interrupt();
  EXPECT_THROW(program.read(), Interrupted);
  request_interrupt(false);
}

TEST(LineProcess, WhoDoesNotEndIsEnded) {
  EXPECT_LT(seconds_of([] { LineProcess("cat > /dev/null"); }), 1.5);  // ends by itself when its input does
  EXPECT_LT(seconds_of([] { LineProcess("sleep 60"); }), 10);
}

}  // namespace
}  // namespace nascent
