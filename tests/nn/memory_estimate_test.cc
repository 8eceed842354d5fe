#include "nascent/nn/memory_estimate.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nascent/core/error.h"
#include "nascent/kernels/memory.h"
#include "nascent/nn/network.h"
#include "nascent/space/space.h"

namespace nascent {
namespace {

TEST(MemoryEstimate, IsNearWhatTheEngineTakes) {
  const auto space = find_space("darts");
  const NetworkPlan plan = plan_supernet(*space, {.channels = 16, .cells = 5}, {3, 32, 32}, 10);
  Network network(plan, 1);
  Mixture mixture;
  for (const CellChoices& cell : space->cells())
    mixture[cell.type].ops = at::full({Space::sites(cell), 8}, 0.125).requires_grad_();
  const size_t before = kernels::block_bytes_in_use();
  const auto output = network.forward(at::ones({8, 3, 32, 32}), {.mixture = &mixture});
  const auto held = static_cast<double>(kernels::block_bytes_in_use() - before);
  const MemoryEstimate estimate = estimate_memory(plan, 8, Engine::fused);
  EXPECT_GT(estimate.activations, 0.75 * held);
  EXPECT_LT(estimate.activations, 1.5 * held);
}

TEST(MemoryEstimate, PlainOperationsKeepSeveralTimesAsMuch) {
  const NetworkPlan plan = plan_supernet(*find_space("darts"), {}, {3, 32, 32}, 10);
  const double fused = estimate_memory(plan, 64, Engine::fused).total(),
               plain = estimate_memory(plan, 64, Engine::reference).total();
  EXPECT_GT(plain, 3 * fused);
  EXPECT_GT(plain, 8e9);  // 10 to 13 GB were measured
  EXPECT_LT(plain, 16e9);
}

TEST(MemoryEstimate, SampledCandidatesNeedLess) {
  const NetworkPlan plan = plan_supernet(*find_space("nasbench201"), {}, {3, 32, 32}, 10);
  EXPECT_LT(estimate_memory(plan, 64, Engine::fused, 1).activations,
            0.7 * estimate_memory(plan, 64, Engine::fused).activations);
}

// relu, conv, norm: fused, only the convolution's result is kept; else all three are, and the last again by the cell.
TEST(MemoryEstimate, AnOperationWithoutAFusedFormKeepsEveryResult) {
  NetworkPlan plan = plan_supernet(*find_space("nasbench201"), {}, {3, 32, 32}, 10);
  const double before = estimate_memory(plan, 2, Engine::fused).activations;
  Stages& candidate = plan.cells[0].nodes[0].edges[0].candidates[3];
  ASSERT_EQ(candidate.size(), 3u);
  candidate[1].groups = 2;
  EXPECT_EQ(estimate_memory(plan, 2, Engine::fused).activations - before, 2 * 3 * 4.0 * 16 * 32 * 32);
}

TEST(MemoryEstimate, TooMuchIsRefusedWithAdvice) {
  const MemoryEstimate estimate{.activations = 9e9};
  EXPECT_EQ(check_memory(estimate, 1e10, "Lower it."), "9.0 GB");
  try {
    check_memory(estimate, 8e9, "Lower data.batch.");
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::AllOf(testing::HasSubstr("9.0 GB"), testing::HasSubstr("8.0 GB"),
                                             testing::HasSubstr("data.batch")));
  }
}

}  // namespace
}  // namespace nascent
