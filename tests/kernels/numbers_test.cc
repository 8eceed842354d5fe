#include "nascent/kernels/numbers.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace nascent::kernels {
namespace {

TEST(Numbers, RoundsToTheNearestTiesToEven) {
  constexpr float kUlp = 1.0f / 128;  // of bf16, between 1 and 2
  for (const auto& [from, to] : {std::pair{1.0f, 1.0f},
                                 {1 + 0.49f * kUlp, 1.0f},
                                 {1 + 0.51f * kUlp, 1 + kUlp},
                                 {1 + 0.5f * kUlp, 1.0f},
                                 {1 + 1.5f * kUlp, 1 + 2 * kUlp},
                                 {-1 - 1.5f * kUlp, -1 - 2 * kUlp},
                                 {2 - 0.25f * kUlp, 2.0f},
                                 {0.0f, 0.0f}})
    EXPECT_EQ(widened(rounded(from)), to) << from;
  EXPECT_TRUE(std::signbit(widened(rounded(-0.0f))));
}

TEST(Numbers, WhatIsNotFiniteStaysSo) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(widened(rounded(kInfinity)), kInfinity);
  EXPECT_EQ(widened(rounded(-kInfinity)), -kInfinity);
  EXPECT_EQ(widened(rounded(std::numeric_limits<float>::max())), kInfinity);
  EXPECT_TRUE(std::isnan(widened(rounded(std::numeric_limits<float>::quiet_NaN()))));
  EXPECT_TRUE(std::isnan(widened(rounded(kInfinity - kInfinity))));
}

TEST(Numbers, WhatWasRoundedStaysAsItIs) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const Bf16 number{static_cast<uint16_t>(bits)};
    if (!std::isnan(widened(number))) {
      EXPECT_EQ(rounded(widened(number)).bits, number.bits);
    }
  }
}

TEST(Numbers, PlacesCountNumbersOfTheirKind) {
  std::vector<float> floats = {1, 2, 3, 4};
  std::vector<Bf16> halves(4);
  copy_numbers(floats.data(), 4, halves.data());
  const ConstNumbers third = Numbers(halves.data()) + 2;
  EXPECT_EQ(third.precision(), Precision::bf16);
  EXPECT_EQ(widened(*third.as<Bf16>()), 3);
  EXPECT_EQ((ConstNumbers(floats.data()) + 3 - 1).as<float>(), &floats[2]);
  clear_numbers(Numbers(halves.data()) + 1, 2);
  copy_numbers(halves.data(), 4, floats.data());
  EXPECT_EQ(floats, (std::vector<float>{1, 0, 0, 4}));
  EXPECT_EQ(floats_for(5, Precision::bf16), 3u);
}

}  // namespace
}  // namespace nascent::kernels
