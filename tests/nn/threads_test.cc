#include "nascent/nn/threads.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

#include "nascent/core/error.h"

namespace nascent {
namespace {

std::string output_of(const std::string& command) {
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  std::string text;
  std::array<char, 256> part{};
  while (fgets(part.data(), part.size(), pipe.get())) text += part.data();
  return text;
}

TEST(Threads, AreTakenOverByTheEngine) {
  const int before = at::get_num_threads();
  use_threads(2);
  EXPECT_EQ(at::get_num_threads(), 2);
  EXPECT_THAT(describe_engine(), testing::AllOf(testing::HasSubstr("LibTorch "), testing::HasSubstr("2 threads")));
  use_threads(1);
  EXPECT_THAT(describe_engine(), testing::EndsWith("1 thread"));
  use_threads(0);
  EXPECT_GE(at::get_num_threads(), 1);
  use_threads(before);
  EXPECT_THROW(use_threads(-1), Error);
}

TEST(Threads, TensorsOutliveAChangeOfMalloc) {
  const at::Tensor before = at::ones({1 << 20});
  keep_freed_memory();
  const at::Tensor after = at::ones({1 << 20});
  EXPECT_TRUE(at::equal(before, after));
}

TEST(Threads, MisdetectedCpusGetABetterBlasCore) {
  EXPECT_EQ(better_blas_core("Prescott", true, true), "SkylakeX");
  EXPECT_EQ(better_blas_core("Prescott", true, false), "Haswell");
  EXPECT_EQ(better_blas_core("Prescott", false, false), "");
  EXPECT_EQ(better_blas_core("Zen", true, false), "");
  EXPECT_EQ(better_blas_core("", true, true), "");
}

// libgomp has no function that tells its policy, so a child is asked to print what it resolved at start-up. The policy
// that it prints is PASSIVE also where none is set and threads spin for a while; how often they look tells.
TEST(Threads, WaitPassivelyUnlessToldOtherwise) {
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  const auto spins = [&](const std::string& environment) {
    return output_of("env " + environment + " OMP_DISPLAY_ENV=verbose '" + self +
                     "' --gtest_list_tests 2>&1 | grep SPINCOUNT | tail -1");
  };
  EXPECT_THAT(spins("-u OMP_WAIT_POLICY -u GOMP_SPINCOUNT"), testing::HasSubstr("'0'"));
  EXPECT_THAT(spins("-u GOMP_SPINCOUNT OMP_WAIT_POLICY=active"), testing::HasSubstr("0000"));
}

}  // namespace
}  // namespace nascent
