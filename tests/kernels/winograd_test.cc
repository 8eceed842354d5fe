#include "nascent/kernels/winograd.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <vector>

#include "nascent/kernels/isa.h"

namespace nascent::kernels {
namespace {

CellProgram one_convolution(int height, int width, int stride) {
  CellProgram program;
  program.add_value({4, height, width});
  program.inputs = 1;
  Unit unit{.input = {.value = 0, .channels = 4}, .stride_h = stride, .stride_w = stride};
  unit.output = program.add_value({4, height / stride, width / stride});
  for (int t = 0; t < 9; ++t) unit.dense.push_back({t / 3 - 1, t % 3 - 1});
  program.add(unit);
  return program;
}

TEST(Winograd, IsForStrideOneAndWholeGroupsOfOutputs) {
  const auto used = [](const CellProgram& program) { return uses_winograd(program, program.units[0]); };
  EXPECT_TRUE(used(one_convolution(8, 12, 1)));
  EXPECT_FALSE(used(one_convolution(8, 6, 1)));
  EXPECT_FALSE(used(one_convolution(6, 8, 1)));
  EXPECT_FALSE(used(one_convolution(8, 8, 2)));
}

// A 3x3 kernel [row][column] at the points, [point of rows][point of columns].
std::vector<float> at_points(const std::array<float, 9>& kernel) {
  std::vector<float> points;
  for (const auto& along_row : kWinogradWeights) {
    for (const auto& along_column : kWinogradWeights) {
      float sum = 0;
      for (int t = 0; t < 9; ++t) sum += along_column[t / 3] * along_row[t % 3] * kernel[t];
      points.push_back(sum);
    }
  }
  return points;
}

// Small whole numbers come out exactly but for the sixths of the weights, and can be added up by hand.
TEST(Winograd, AnImageOfOnesCountsItsNeighbours) {
  const ImageKernels& kernels = image_kernels();
  constexpr int kRows = kWinogradRows + 4, kWidth = 4, kChannels = 4;
  // An image of ones within a border of zeros; only channel 0 is used, by a kernel of ones.
  std::vector<float> image((kRows + 2) * (kWidth + 2) * kChannels, 0.0f), out(kRows * kWidth * kChannels, 5.0f);
  for (int y = 1; y <= kRows; ++y) {
    for (int x = 1; x <= kWidth; ++x) image[(y * (kWidth + 2) + x) * kChannels] = 1;
  }
  const std::vector<float> points = at_points({1, 1, 1, 1, 1, 1, 1, 1, 1});
  std::vector<float> weights(points.size() * kChannels, 0.0f);
  for (size_t i = 0; i < points.size(); ++i) weights[i * kChannels] = points[i];
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

// Going to the points and back, along rows and along columns, multiplies rounding. In norm, results stay as close to
// those in double as twice the root of the number of products that are added up, in half steps of a float (2^-24): 3e-6
// for 64 channels, a seventh of what cells may differ from their twins in double (tests/nn/fused_cell_test.cc).
double bound(int channels) { return 2 * std::sqrt(9.0 * channels) * std::ldexp(1.0, -24); }

TEST(Winograd, RoundingStaysWithinItsBound) {
  const std::string before = isa();
  constexpr int kSize = 8, kPitch = kSize + 2;
  for (const int channels : {4, 8, 16, 64}) {
    std::mt19937_64 engine(channels);
    std::normal_distribution<float> normal;
    // As behind a ReLU: all of one sign, which is worst for the differences at the points.
    std::vector<float> image(kPitch * kPitch * channels), kernels(size_t{9} * channels * channels);
    for (float& number : image) number = std::abs(normal(engine));
    for (float& number : kernels) number = normal(engine);
    std::vector<float> weights(size_t{kWinogradPoints} * kWinogradPoints * channels * channels);
    std::vector<double> truth(kSize * kSize * channels, 0.0);
    for (int k = 0; k < channels; ++k) {
      for (int o = 0; o < channels; ++o) {
        std::array<float, 9> kernel{};
        std::copy_n(kernels.data() + (k * channels + o) * 9, 9, kernel.data());
        const std::vector<float> points = at_points(kernel);
        for (size_t i = 0; i < points.size(); ++i) weights[(i * channels + k) * channels + o] = points[i];
        for (int i = 0; i < kSize * kSize; ++i) {
          for (int t = 0; t < 9; ++t)
            truth[i * channels + o] +=
                double{kernel[t]} * image[((i / kSize + t / 3) * kPitch + i % kSize + t % 3) * channels + k];
        }
      }
    }
    for (const std::string& name : supported_isas()) {
      use_isa(name);
      std::vector<float> out(truth.size()), scratch(winograd_floats(kSize, channels, channels));
      const WinogradInput input = {.in = {image.data(), kPitch * channels},
                                   .ci = channels,
                                   .rows = kSize,
                                   .width = kSize,
                                   .co = channels,
                                   .scratch = scratch.data()};
      winograd(image_kernels(), input, weights.data(), /*add=*/false, {out.data(), kSize * channels});
      double distance = 0, size = 0;
      for (size_t i = 0; i < truth.size(); ++i) {
        distance += (out[i] - truth[i]) * (out[i] - truth[i]);
        size += truth[i] * truth[i];
      }
      EXPECT_LT(std::sqrt(distance / size), bound(channels)) << name << ", " << channels << " channels";
    }
  }
  use_isa(before);
}

}  // namespace
}  // namespace nascent::kernels
