#include "nascent/kernels/winograd.h"

#include <gtest/gtest.h>

#include <vector>

namespace nascent::kernels {
namespace {

CellProgram one_convolution(int width, int stride) {
  CellProgram program;
  program.add_value({4, 8, width});
  program.inputs = 1;
  Unit unit{.input = {.value = 0, .channels = 4}, .stride_h = stride, .stride_w = stride};
  unit.output = program.add_value({4, 8 / stride, width / stride});
  for (int t = 0; t < 9; ++t) unit.dense.push_back({t / 3 - 1, t % 3 - 1});
  program.add(unit);
  return program;
}

TEST(Winograd, IsForStrideOneAndWholeGroupsOfOutputs) {
  const auto used = [](const CellProgram& program) { return uses_winograd(program, program.units[0]); };
  EXPECT_TRUE(used(one_convolution(8, 1)));
  EXPECT_FALSE(used(one_convolution(6, 1)));
  EXPECT_FALSE(used(one_convolution(8, 2)));
}

// Small whole numbers come out exactly but for the sixths of the weights, and can be added up by hand.
TEST(Winograd, ARowOfOnesCountsItsNeighbours) {
  const ImageKernels& kernels = image_kernels();
  constexpr int kRows = 9, kWidth = 4, kChannels = 4;
  // An image of ones within a border of zeros; only channel 0 is used, by a kernel of ones.
  std::vector<float> image((kRows + 2) * (kWidth + 2) * kChannels, 0.0f), out(kRows * kWidth * kChannels, 5.0f);
  for (int y = 1; y <= kRows; ++y) {
    for (int x = 1; x <= kWidth; ++x) image[(y * (kWidth + 2) + x) * kChannels] = 1;
  }
  std::vector<float> weights(kWinogradPoints * 3 * kChannels, 0.0f);
  for (int m = 0; m < kWinogradPoints; ++m) {
    for (int y = 0; y < 3; ++y)
      weights[(m * 3 + y) * kChannels] = kWinogradWeights[m][0] + kWinogradWeights[m][1] + kWinogradWeights[m][2];
  }
  std::vector<float> scratch(winograd_floats(kWidth, 1, 1));
  const WinogradInput input = {.in = {image.data(), (kWidth + 2) * kChannels},
                               .ci = 1,
                               .rows = kRows,
                               .width = kWidth,
                               .co = 1,
                               .scratch = scratch.data()};
  winograd(kernels, input, weights.data(), /*add=*/true, {out.data(), kWidth * kChannels});
  for (int y = 0; y < kRows; ++y) {
    for (int x = 0; x < kWidth; ++x) {
      const int rows = y == 0 || y + 1 == kRows ? 2 : 3, columns = x == 0 || x + 1 == kWidth ? 2 : 3;
      EXPECT_NEAR(out[(y * kWidth + x) * kChannels], 5 + rows * columns, 1e-5) << y << ", " << x;
      EXPECT_EQ(out[(y * kWidth + x) * kChannels + 1], 5);
    }
  }
}

}  // namespace
}  // namespace nascent::kernels
