#include "nascent/core/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

namespace nascent {
namespace {

using Block = std::array<uint32_t, 4>;

// Known answers of Philox 4x32-10 from the Random123 distribution.
TEST(Philox, MatchesKnownAnswers) {
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}), (Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
            (Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(RandomStream, DependsOnlyOnItsName) {
  RandomStream a(1, "flip", {2, 3}), b(1, "flip", {2, 3});
  for (int i = 0; i < 100; ++i) EXPECT_EQ(a(), b());
}

TEST(RandomStream, DiffersInSeedPurposeAndCounters) {
  std::set<uint64_t> first;
  const auto draw = [](RandomStream stream) { return uint64_t{stream()} << 32 | stream(); };
  first.insert(draw(RandomStream(1, "flip", {2, 3})));
  first.insert(draw(RandomStream(2, "flip", {2, 3})));
  first.insert(draw(RandomStream(1, "crop", {2, 3})));
  first.insert(draw(RandomStream(1, "flip", {3, 2})));
  first.insert(draw(RandomStream(1, "flip", {2, 3, 0})));
  first.insert(draw(RandomStream(1, "flip", {0, 2, 3})));
  first.insert(draw(RandomStream(1, "flip", {})));
  EXPECT_EQ(first.size(), 7u);
}

TEST(RandomStream, NeighbouringStreamsDoNotCollide) {
  std::set<uint64_t> seen;
  for (uint64_t epoch = 0; epoch < 100; ++epoch) {
    for (uint64_t index = 0; index < 1000; ++index) {
      RandomStream stream(7, "image", {epoch, index});
      seen.insert(uint64_t{stream()} << 32 | stream());
    }
  }
  EXPECT_EQ(seen.size(), 100000u);
}

TEST(RandomStream, UniformAndNormalHaveTheirMoments) {
  RandomStream stream(3, "moments");
  constexpr int kCount = 200000;
  double u = 0, uu = 0, n = 0, nn = 0, nnnn = 0;
  for (int i = 0; i < kCount; ++i) {
    const double x = stream.uniform(), y = stream.normal();
    ASSERT_TRUE(x >= 0 && x < 1);
    u += x, uu += x * x, n += y, nn += y * y, nnnn += y * y * y * y;
  }
  EXPECT_NEAR(u / kCount, 0.5, 0.003);
  EXPECT_NEAR(uu / kCount, 1.0 / 3, 0.003);
  EXPECT_NEAR(n / kCount, 0, 0.01);
  EXPECT_NEAR(nn / kCount, 1, 0.015);
  EXPECT_NEAR(nnnn / kCount, 3, 0.1);
}

TEST(RandomStream, BelowIsUniform) {
  RandomStream stream(4, "below");
  std::array<int, 7> counts{};
  for (int i = 0; i < 70000; ++i) ++counts[stream.below(7)];
  for (const int count : counts) EXPECT_NEAR(count, 10000, 400);
}

TEST(RandomStream, PermutationHoldsEveryIndexOnce) {
  auto order = RandomStream(5, "order").permutation(1000);
  EXPECT_NE(order[0] + order[1] + order[2], 3);
  std::sort(order.begin(), order.end());
  std::vector<int64_t> expected(1000);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(order, expected);
}

}  // namespace
}  // namespace nascent
