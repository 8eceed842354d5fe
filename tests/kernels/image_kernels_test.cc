// Products over channels that do and do not fill vectors, against loops in double.
#include "nascent/kernels/image_kernels.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "nascent/kernels/isa.h"

namespace nascent::kernels {
namespace {

std::vector<float> random_floats(size_t count, uint64_t seed) {
  std::mt19937_64 engine(seed);
  std::normal_distribution<float> normal;
  std::vector<float> floats(count);
  for (float& number : floats) number = normal(engine);
  return floats;
}

void expect_near(const std::vector<float>& mine, const std::vector<double>& truth) {
  ASSERT_EQ(mine.size(), truth.size());
  double distance = 0, size = 0;
  for (size_t i = 0; i < truth.size(); ++i) {
    distance += (mine[i] - truth[i]) * (mine[i] - truth[i]);
    size += truth[i] * truth[i];
  }
  EXPECT_LE(std::sqrt(distance), 1e-6 * std::sqrt(size));
}

// A 3x3 kernel over rows of `pixels` pixels, which lie in a wider image.
struct Convolution {
  int ci, co, rows, pixels;
  bool adds;  // to what is in the output

  int cip() const { return padded(ci); }
  ptrdiff_t row() const { return static_cast<ptrdiff_t>(pixels + 2) * cip(); }
  std::vector<ptrdiff_t> taps() const {
    std::vector<ptrdiff_t> offsets;
    for (int t = 0; t < 9; ++t) offsets.push_back(t / 3 * row() + static_cast<ptrdiff_t>(t % 3) * cip());
    return offsets;
  }
  std::vector<float> image() const { return random_floats(row() * (rows + 2) + 64, 1); }
};

class ImageKernelsTest : public testing::Test {
 protected:
  ~ImageKernelsTest() override { use_isa(before_); }

  template <class Body>
  static void for_channels(Body body) {
    for (const std::string& isa : supported_isas()) {
      use_isa(isa);
      for (const int channels : {4, 8, 12, 16, 20, 24, 28, 32, 36, 40, 48, 56, 60}) {
        for (const int pixels : {1, 2, 7, 8, 16, 27, 32}) {
          SCOPED_TRACE(fmt::format("{}, {} channels, {} pixels", isa, channels, pixels));
          body(channels, pixels);
        }
      }
    }
  }

 private:
  std::string before_ = isa();
};

TEST_F(ImageKernelsTest, DenseIsASumOverTapsAndInputs) {
  for_channels([](int channels, int pixels) {
    for (const Convolution& it : {Convolution{channels, channels, 1, pixels, false}, {7, channels, 1, pixels, true}}) {
      const std::vector<float> image = it.image(), weights = random_floats(size_t{9} * it.ci * it.co, 2);
      const std::vector<float> start = random_floats(size_t(pixels) * it.co, 3);
      const std::vector<ptrdiff_t> taps = it.taps();
      std::vector<double> truth(start.begin(), start.end());
      for (int i = 0; i < pixels; ++i) {
        for (int o = 0; o < it.co; ++o) {
          double& sum = truth[i * it.co + o];
          if (!it.adds) sum = start[o];
          for (int t = 0; t < 9; ++t) {
            for (int k = 0; k < it.ci; ++k)
              sum += double{image[taps[t] + i * it.cip() + k]} * weights[(t * it.ci + k) * it.co + o];
          }
        }
      }
      std::vector<float> out(truth.size());
      image_kernels().dense({.in = image.data(),
                             .taps = {taps.data(), 9},
                             .step = it.cip(),
                             .ci = it.ci,
                             .weights = weights.data(),
                             .pixels = pixels,
                             .co = it.co,
                             .start = {start.data(), it.adds ? it.co : 0},
                             .out = {out.data(), it.co}});
      expect_near(out, truth);
    }
  });
}

TEST_F(ImageKernelsTest, DenseWeightsAreSumsOverPixels) {
  for_channels([](int channels, int pixels) {
    for (const int ci : {channels, 7}) {
      const Convolution it = {ci, channels, 2, pixels, true};
      const std::vector<float> image = it.image(), gradient = random_floats(size_t{2} * pixels * it.co, 2);
      std::vector<float> sums = random_floats(size_t{9} * ci * it.co, 3);
      const std::vector<ptrdiff_t> taps = it.taps();
      std::vector<double> truth(sums.begin(), sums.end());
      for (int t = 0; t < 9; ++t) {
        for (int k = 0; k < ci; ++k) {
          for (int o = 0; o < it.co; ++o) {
            for (int i = 0; i < 2 * pixels; ++i)
              truth[(t * ci + k) * it.co + o] +=
                  double{image[taps[t] + i / pixels * it.row() + i % pixels * it.cip() + k]} * gradient[i * it.co + o];
          }
        }
      }
      image_kernels().dense_weights({.pairs = {.in = {image.data(), it.row()},
                                               .gradient = {gradient.data(), static_cast<ptrdiff_t>(pixels) * it.co},
                                               .rows = 2,
                                               .pixels = pixels},
                                     .taps = {taps.data(), 9},
                                     .step = it.cip(),
                                     .ci = ci,
                                     .co = it.co,
                                     .gradients = sums.data()});
      expect_near(sums, truth);
    }
  });
}

TEST_F(ImageKernelsTest, DepthwiseIsASumOverTaps) {
  for_channels([](int channels, int pixels) {
    for (const bool adds : {false, true}) {
      const Convolution it = {channels, channels, 2, pixels, adds};
      const std::vector<float> image = it.image(), weights = random_floats(size_t{9} * channels, 2);
      std::vector<float> out = random_floats(size_t{2} * pixels * channels, 3);
      const std::vector<ptrdiff_t> taps = it.taps();
      std::vector<double> truth(out.begin(), out.end());
      for (int i = 0; i < 2 * pixels; ++i) {
        for (int c = 0; c < channels; ++c) {
          double& sum = truth[i * channels + c];
          if (!adds) sum = 0;
          for (int t = 0; t < 9; ++t)
            sum +=
                double{image[taps[t] + i / pixels * it.row() + i % pixels * it.cip() + c]} * weights[t * channels + c];
        }
      }
      image_kernels().depthwise({.in = {image.data(), it.row()},
                                 .taps = {taps.data(), 9},
                                 .grid = {.height = 3, .width = 3},
                                 .step = channels,
                                 .weights = weights.data(),
                                 .rows = 2,
                                 .pixels = pixels,
                                 .c = channels,
                                 .add = adds,
                                 .out = {out.data(), static_cast<ptrdiff_t>(pixels) * channels}});
      expect_near(out, truth);
    }
  });
}

}  // namespace
}  // namespace nascent::kernels
