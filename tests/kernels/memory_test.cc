#include "nascent/kernels/memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <new>

#include "nascent/core/random.h"

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

// Blocks of random sizes come and go; each holds its own number as long as it lives.
TEST(Block, NobodyElseWritesIntoIt) {
  RandomStream random(2, "blocks");
  const size_t before = block_bytes_in_use();
  std::vector<std::pair<Block, size_t>> blocks;
  for (int i = 0; i < 2000; ++i) {
    const size_t floats = 1 + static_cast<size_t>(random.uniform() * 5000);
    blocks.emplace_back(Block(floats), floats);
    std::fill_n(blocks.back().first.data(), floats, static_cast<float>(i));
    if (random.uniform() < 0.4) continue;
    const size_t gone = static_cast<size_t>(random.uniform() * static_cast<double>(blocks.size()));
    const auto& [block, size] = blocks[gone];
    EXPECT_EQ(std::count(block.data(), block.data() + size, block.data()[0]), size);
    blocks.erase(blocks.begin() + static_cast<ptrdiff_t>(gone));
  }
  EXPECT_GT(block_bytes_in_use(), before);
  blocks.clear();
  EXPECT_EQ(block_bytes_in_use(), before);
}

// What two blocks leave is one piece again, in whichever order they go.
TEST(Block, FreedNeighboursMakeRoomForALargerOne) {
  for (const bool first_goes_first : {true, false}) {
    auto first = std::make_unique<Block>(1000), second = std::make_unique<Block>(3000);
    const Block behind(10);  // so that there is an end to the room
    const float* place = first->data();
    ASSERT_LT(place, second->data());
    (first_goes_first ? first : second).reset();
    (first_goes_first ? second : first).reset();
    EXPECT_EQ(Block(3900).data(), place);
    EXPECT_NE(Block(5000).data(), place);
  }
}

#ifdef __SANITIZE_ADDRESS__
float read(const float* place) { return *static_cast<const volatile float*>(place); }

TEST(BlockDeathTest, TheSanitizerSeesWhoReadsBehindItOrTooLate) {
  EXPECT_DEATH(read(Block(16).data() + 16), "use-after-poison");
  const float* gone = Block(16).data();
  EXPECT_DEATH(read(gone), "use-after-poison");
}
#endif

TEST(Block, MoreThanTheMachineHasIsRefused) { EXPECT_THROW(Block(size_t{1} << 50), std::bad_alloc); }

}  // namespace
}  // namespace nascent::kernels
