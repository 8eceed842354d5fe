#include "nascent/space/stage.h"

#include <gtest/gtest.h>

#include "nascent/core/error.h"

namespace nascent {
namespace {

TEST(Stage, ConvolutionShapesAndCounts) {
  const Stage conv = stage::conv(3, 16, 3, 2);
  EXPECT_EQ(conv.output({3, 33, 28}), (Shape{16, 17, 14}));
  EXPECT_EQ(conv.parameters(), 3 * 16 * 9);
  EXPECT_EQ(conv.multiply_adds({3, 33, 28}), 3 * 16 * 9 * 17 * 14);
}

TEST(Stage, DepthwiseCountsOneInputPerOutput) {
  const Stage conv = stage::depthwise(24, 5, 1, 2);
  EXPECT_EQ(conv.output({24, 8, 9}), (Shape{24, 8, 9}));
  EXPECT_EQ(conv.parameters(), 24 * 25);
  EXPECT_EQ(conv.multiply_adds({24, 8, 9}), 24 * 25 * 72);
}

TEST(Stage, RectangularKernels) {
  const Stage conv = stage::conv_hw(8, 8, 1, 7, 1, 2);
  EXPECT_EQ(conv.output({8, 10, 10}), (Shape{8, 10, 5}));
  EXPECT_EQ(conv.parameters(), 8 * 8 * 7);
}

TEST(Stage, FactorizedReduceHalvesOddSidesUpwards) {
  const Stage reduce = stage::factorized_reduce(12, 10);
  EXPECT_EQ(reduce.output({12, 7, 8}), (Shape{10, 4, 4}));
  EXPECT_EQ(reduce.parameters(), 120);
  EXPECT_EQ(reduce.multiply_adds({12, 7, 8}), 120 * 16);
}

TEST(Stage, AllStridedStagesAgreeOnEverySide) {
  for (int side = 1; side < 40; ++side) {
    const Shape image{4, side, side + 1};
    const Shape reduced = stage::factorized_reduce(4, 4).output(image);
    EXPECT_EQ(stage::zero(4, 4, 2).output(image), reduced);
    EXPECT_EQ(stage::max_pool(4, 3, 2, 1).output(image), reduced);
    EXPECT_EQ(stage::depthwise(4, 5, 2, 2).output(image), reduced);
    EXPECT_EQ(stage::conv(4, 4, 1, 2).output(image), reduced);
  }
}

TEST(Stage, LinearFlattens) {
  const Stage linear = stage::linear(4 * 2 * 3, 10);
  EXPECT_EQ(linear.output({4, 2, 3}), (Shape{10, 1, 1}));
  EXPECT_EQ(linear.parameters(), 250);
  EXPECT_EQ(linear.multiply_adds({4, 2, 3}), 240);
}

TEST(Stage, WithoutWeights) {
  for (const Stage& stage :
       {stage::relu(8), stage::max_pool(8, 3, 1, 1), stage::avg_pool(8, 3, 1, 1), stage::zero(8, 8, 1),
        stage::truncate(8, 5), stage::global_avg_pool(8), stage::batch_norm(8, false)}) {
    EXPECT_EQ(stage.parameters(), 0);
    EXPECT_EQ(stage.multiply_adds({8, 6, 6}), 0);
  }
  EXPECT_EQ(stage::batch_norm(8).parameters(), 16);
  EXPECT_EQ(stage::truncate(8, 5).output({8, 6, 6}), (Shape{5, 6, 6}));
}

TEST(Stage, WrongChannelsAndTooSmallImagesAreErrors) {
  EXPECT_THROW(stage::relu(8).output({7, 4, 4}), Error);
  try {
    stage::avg_pool(8, 5, 3, 0).output({8, 4, 4});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_STREQ(
        error.what(),
        "An image of 8x4x4 is too small for average pooling with a 5x5 window. Use larger images or fewer cells.");
  }
}

TEST(Stage, ListsAddUp) {
  const Stages stages = {stage::relu(4), stage::conv(4, 8, 1), stage::batch_norm(8)};
  EXPECT_EQ(output_shape(stages, {4, 5, 5}), (Shape{8, 5, 5}));
  EXPECT_EQ(parameters(stages), 32 + 16);
  EXPECT_EQ(multiply_adds(stages, {4, 5, 5}), 32 * 25);
  EXPECT_EQ(output_shape({}, {4, 5, 5}), (Shape{4, 5, 5}));
}

}  // namespace
}  // namespace nascent
