#include "kernels/isa.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "core/error.h"
#include "kernels/image_kernels.h"

namespace nascent::kernels {
namespace {

TEST(Isa, ScalarIsEverywhere) { EXPECT_THAT(supported_isas(), testing::Contains("scalar")); }

TEST(Isa, AnUnknownOneIsRefusedByName) {
  try {
    use_isa("avx3000");
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::AllOf(testing::HasSubstr("avx3000"), testing::HasSubstr("scalar")));
  }
}

TEST(Isa, VectorsSuitTheChannels) {
  const std::string before = isa();
  const int four[] = {4}, sixteen[] = {16}, odd[] = {36};
  EXPECT_EQ(best_lanes(four, 1), std::min(4, widest_lanes()));
  EXPECT_EQ(best_lanes(sixteen, 1), widest_lanes());
  EXPECT_LE(padded(36, best_lanes(odd, 1)), 40);  // 48 would be a third more
  use_isa("scalar");
  EXPECT_EQ(image_kernels(16).lanes, 1);
  EXPECT_EQ(best_lanes(sixteen, 1), 1);
  use_isa(before);
}

}  // namespace
}  // namespace nascent::kernels
