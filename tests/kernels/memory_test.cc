#include "kernels/memory.h"

#include <gtest/gtest.h>

#include "core/random.h"

namespace nascent::kernels {
namespace {

TEST(MemoryPlan, WhatLivesAtTheSameTimeDoesNotOverlap) {
  RandomStream random(1, "memory-plan");
  std::vector<Resident> residents;
  for (int i = 0; i < 200; ++i) {
    const int first = static_cast<int>(random.uniform() * 20);
    residents.push_back(
        {1 + static_cast<size_t>(random.uniform() * 1000), first, first + static_cast<int>(random.uniform() * 5)});
  }
  const MemoryPlan plan = plan_memory(residents);
  size_t all = 0;
  for (size_t a = 0; a < residents.size(); ++a) {
    all += residents[a].floats;
    EXPECT_LE(plan.offsets[a] + residents[a].floats, plan.floats);
    for (size_t b = 0; b < a; ++b) {
      const bool together = residents[a].first <= residents[b].last && residents[b].first <= residents[a].last;
      const bool apart = plan.offsets[a] + residents[a].floats <= plan.offsets[b] ||
                         plan.offsets[b] + residents[b].floats <= plan.offsets[a];
      EXPECT_TRUE(!together || apart) << a << " and " << b;
    }
  }
  EXPECT_LT(plan.floats, all / 2);
}

TEST(Block, IsHandedOutAgain) {
  release_kept_blocks();
  float* first = nullptr;
  {
    const Block block(100000);
    first = block.data();
    EXPECT_GE(block_bytes_in_use(), 400000u);
  }
  const Block again(99990);  // nearly as large
  EXPECT_EQ(again.data(), first);
}

}  // namespace
}  // namespace nascent::kernels
