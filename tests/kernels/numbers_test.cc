#include "nascent/kernels/numbers.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "nascent/kernels/image_kernels.h"
#include "nascent/kernels/isa.h"

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
  // Of these bits the upper half alone is infinite, or what is added to round them overflows.
  for (const uint32_t bits : {0x7f800001u, 0x7f807fffu, 0x7fffffffu, 0x7fff8000u, 0xff800001u, 0xffffffffu}) {
    const float rest = std::bit_cast<float>(bits);
    EXPECT_TRUE(std::isnan(widened(rounded(rest)))) << bits;
    EXPECT_EQ(std::signbit(widened(rounded(rest))), std::signbit(rest)) << bits;
  }
}

// Kernels round as rounded() does: every upper half, with lower ones that are and are not ties.
TEST(Numbers, KernelsRoundAlike) {
  std::vector<float> numbers;
  for (uint32_t upper = 0; upper < 0x10000; ++upper) {
    // Some CPUs take numbers below 2^-126 for zero.
    if ((upper & 0x7f80) == 0) continue;
    for (const uint32_t lower : {0u, 1u, 0x7fffu, 0x8000u, 0x8001u, 0xffffu})
      numbers.push_back(std::bit_cast<float>(upper << 16 | lower));
  }
  const size_t whole = numbers.size() / 16 * 16;
  std::vector<Bf16> stored(whole);
  const std::string before = isa();
  for (const std::string& name : supported_isas()) {
    use_isa(name);
    image_kernels().copy_pixels(numbers.data(), whole / 16, 16, {stored.data(), 16});
    for (size_t i = 0; i < whole; ++i)
      ASSERT_EQ(stored[i].bits, rounded(numbers[i]).bits) << name << ", " << std::bit_cast<uint32_t>(numbers[i]);
  }
  use_isa(before);
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
