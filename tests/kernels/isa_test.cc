#include "nascent/kernels/isa.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "nascent/core/error.h"
#include "nascent/kernels/image_kernels.h"

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

}  // namespace
}  // namespace nascent::kernels
