#include "nn/threads.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"

namespace nascent {
namespace {

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

}  // namespace
}  // namespace nascent
