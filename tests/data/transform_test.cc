#include <algorithm>
#include <set>

#include "data/fixtures.h"
#include "nascent/data/resample.h"
#include "nascent/data/transform_pipeline.h"

namespace nascent {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Bytes stay bytes: value v comes out as v.
const ChannelStatistics identity{{0}, {1.0 / 255}};

std::vector<float> run(const std::vector<std::string>& specs, const Image& input, uint64_t number = 0) {
  const TransformPipeline pipeline(specs, identity, input.shape());
  Image image = input, scratch;
  RandomStream random(1, "test", {number});
  std::vector<float> out(pipeline.output().count());
  pipeline.apply(image, scratch, random, out.data());
  return out;
}

Image grey_image(int height, int width, std::vector<uint8_t> pixels) { return {1, height, width, std::move(pixels)}; }

std::string spec_error(const std::vector<std::string>& specs, const Shape& shape = {3, 8, 8}) {
  return error_of([&] { TransformPipeline(specs, identity, shape); });
}

TEST(TransformTest, FlipMirrorsPixelsNotChannels) {
  Image image{3, 1, 2, {1, 2, 3, 4, 5, 6}};
  EXPECT_THAT(run({"flip 1"}, image), ElementsAre(4, 5, 6, 1, 2, 3));
  EXPECT_THAT(run({"flip 0"}, image), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(run({"flip 1"}, grey_image(1, 3, {1, 2, 3})), ElementsAre(3, 2, 1));
}

TEST(TransformTest, FlipHappensEveryOtherTime) {
  int flipped = 0;
  for (int i = 0; i < 1000; ++i) flipped += run({"flip"}, grey_image(1, 2, {1, 2}), i)[0] == 2;
  EXPECT_NEAR(flipped, 500, 60);
}

TEST(TransformTest, PadCropShiftsEachWay) {
  const Image image = grey_image(2, 2, {1, 2, 3, 4});
  std::set<std::vector<float>> seen;
  for (int i = 0; i < 400; ++i) seen.insert(run({"pad-crop 1"}, image, i));
  EXPECT_EQ(seen.size(), 9u);
  EXPECT_TRUE(seen.count({1, 2, 3, 4}));
  EXPECT_TRUE(seen.count({0, 0, 0, 1}));
  EXPECT_TRUE(seen.count({4, 0, 0, 0}));
  EXPECT_TRUE(seen.count({0, 1, 0, 3}));
}

TEST(TransformTest, PadCropMayExceedTheImage) {
  for (int i = 0; i < 100; ++i) EXPECT_EQ(run({"pad-crop 9"}, grey_image(2, 3, {1, 2, 3, 4, 5, 6}), i).size(), 6u);
}

TEST(TransformTest, CenterCropTakesTheMiddleAndPadsSmallImages) {
  EXPECT_THAT(run({"center-crop 1"}, grey_image(3, 3, {1, 2, 3, 4, 5, 6, 7, 8, 9})), ElementsAre(5));
  EXPECT_THAT(run({"center-crop 3"}, grey_image(1, 1, {5})), ElementsAre(0, 0, 0, 0, 5, 0, 0, 0, 0));
}

TEST(TransformTest, ResizeShrinksWithoutSkippingPixels) {
  // Halving with the triangle filter: weights 1 3 3 1 of 8, cut off and renormalised at the edge.
  EXPECT_THAT(run({"resize 1 2"}, grey_image(1, 4, {0, 80, 160, 240})), ElementsAre(58 - 1, 183));
  Image stripes = grey_image(1, 64, {});
  for (int i = 0; i < 64; ++i) stripes.pixels.push_back(i % 2 * 200);
  for (const float value : run({"resize 1 8"}, stripes)) EXPECT_NEAR(value, 100, 5);
}

TEST(TransformTest, ResizeGrowsBilinearly) {
  EXPECT_THAT(run({"resize 1 4"}, grey_image(1, 2, {0, 100})), ElementsAre(0, 25, 75, 100));
}

TEST(TransformTest, ResizeKeepsConstantImagesAndTheRatio) {
  EXPECT_THAT(run({"resize 7"}, solid_image(20, 33, 9, 9, 9)), Each(9));
  EXPECT_EQ(TransformPipeline({"resize 10"}, identity, {3, 20, 33}).output(), (Shape{3, 10, 17}));
  EXPECT_EQ(TransformPipeline({"resize 10"}, identity, {3, 0, 0}).output(), (Shape{3, 0, 0}));
  EXPECT_EQ(TransformPipeline({"resize 10", "center-crop 8"}, identity, {3, 0, 0}).output(), (Shape{3, 8, 8}));
}

TEST(TransformTest, ResampleTakesOnlyTheWindow) {
  Image out;
  resample(grey_image(3, 3, {9, 9, 9, 9, 50, 60, 9, 70, 80}), {1, 1, 2, 2}, 2, 2, out);
  EXPECT_THAT(out.pixels, ElementsAre(50, 60, 70, 80));
}

TEST(TransformTest, RandomResizedCropFitsAnyImage) {
  for (const auto& [height, width] : {std::pair(1, 1), {1, 300}, {300, 1}, {17, 40}}) {
    for (int i = 0; i < 20; ++i)
      EXPECT_THAT(run({"random-resized-crop 8"}, solid_image(height, width, 7, 7, 7), i), Each(7));
  }
  EXPECT_NE(run({"random-resized-crop 4"}, grey_image(1, 3, {0, 100, 200}), 1),
            run({"random-resized-crop 4"}, grey_image(1, 3, {0, 100, 200}), 2));
}

TEST(TransformTest, ColourJitterOfStrengthZeroChangesNothing) {
  const Image image{3, 1, 2, {1, 200, 3, 40, 50, 60}};
  EXPECT_THAT(run({"colour-jitter 0 0 0 0"}, image), ElementsAre(1, 200, 3, 40, 50, 60));
}

TEST(TransformTest, BrightnessScales) {
  for (int i = 0; i < 50; ++i) {
    const auto out = run({"colour-jitter 0.5"}, solid_image(1, 1, 100, 50, 20), i);
    EXPECT_GE(out[0], 50);
    EXPECT_LE(out[0], 150);
    EXPECT_NEAR(out[1], out[0] / 2, 1);
    EXPECT_NEAR(out[2], out[0] / 5, 1);
  }
}

TEST(TransformTest, HueKeepsTheExtremesAndGrey) {
  for (int i = 0; i < 50; ++i) {
    auto out = run({"colour-jitter 0 0 0 0.5"}, solid_image(1, 1, 200, 100, 50), i);
    EXPECT_EQ(*std::max_element(out.begin(), out.end()), 200);
    EXPECT_EQ(*std::min_element(out.begin(), out.end()), 50);
    EXPECT_THAT(run({"colour-jitter 0 0 0 0.5"}, solid_image(1, 1, 80, 80, 80), i), Each(80));
  }
}

TEST(TransformTest, SaturationKeepsLuma) {
  for (int i = 0; i < 50; ++i) {
    const auto out = run({"colour-jitter 0 0 0.4"}, solid_image(1, 1, 120, 100, 90), i);
    EXPECT_NEAR(0.299 * out[0] + 0.587 * out[1] + 0.114 * out[2], 0.299 * 120 + 0.587 * 100 + 0.114 * 90, 1);
  }
}

TEST(TransformTest, ColourJitterServesGreyImages) {
  EXPECT_EQ(run({"colour-jitter 0.4 0.4 0.4 0.2"}, grey_image(1, 2, {10, 100})).size(), 2u);
}

TEST(TransformTest, NormaliseUsesTheStatistics) {
  const ChannelStatistics statistics{{0.5, 0.25, 0}, {0.5, 0.25, 0}};
  const TransformPipeline pipeline({}, statistics, {3, 1, 1});
  Image image{3, 1, 1, {255, 0, 51}}, scratch;
  RandomStream random(1, "test");
  float out[3];
  pipeline.apply(image, scratch, random, out);
  EXPECT_FLOAT_EQ(out[0], 1);
  EXPECT_FLOAT_EQ(out[1], -1);
  EXPECT_FLOAT_EQ(out[2], 0.2f);  // a constant channel is not divided
  EXPECT_THAT(pipeline.specs(), ElementsAre("normalise"));
}

TEST(TransformTest, NormaliseTakesExplicitNumbers) {
  EXPECT_THAT(run({"normalise 0 1"}, grey_image(1, 2, {0, 255})), ElementsAre(0, 1));
  EXPECT_FALSE(TransformPipeline::needs_statistics({"flip", "normalise 0 1"}));
  EXPECT_TRUE(TransformPipeline::needs_statistics({"flip", "normalise"}));
  EXPECT_TRUE(TransformPipeline::needs_statistics({"flip"}));
}

TEST(TransformTest, NormaliseCoversEveryLength) {
  for (const int width : {1, 63, 64, 65, 200}) {
    const auto out = run({}, solid_image(1, width, 10, 20, 30));
    for (int i = 0; i < 3 * width; ++i) EXPECT_FLOAT_EQ(out[i], 10.0f * (i % 3 + 1));
  }
}

TEST(TransformTest, CutoutFollowsNormalise) {
  const TransformPipeline pipeline({"flip", "cutout 2"}, identity, {1, 4, 4});
  EXPECT_THAT(pipeline.specs(), ElementsAre("flip", "normalise", "cutout 2"));
  for (int i = 0; i < 50; ++i) {
    const auto out = run({"cutout 2"}, grey_image(4, 4, std::vector<uint8_t>(16, 1)), i);
    const auto cut = std::count(out.begin(), out.end(), 0.0f);
    EXPECT_TRUE(cut == 1 || cut == 2 || cut == 4) << cut;
  }
}

TEST(TransformTest, ToRgbRepeatsGrey) {
  EXPECT_THAT(run({"to-rgb"}, grey_image(1, 2, {1, 2})), ElementsAre(1, 1, 1, 2, 2, 2));
}

TEST(TransformTest, BadSpecsAreQuoted) {
  EXPECT_EQ(
      spec_error({"pad-crop"}),
      "The transform 'pad-crop' is not right; expected 'pad-crop PIXELS' with 1 to 1024 pixels, such as 'pad-crop 4'.");
  EXPECT_THAT(spec_error({"pad-crop 2.5"}), HasSubstr("'pad-crop 2.5' is not right"));
  EXPECT_THAT(spec_error({"pad-crop four"}), HasSubstr("'pad-crop four' has 'four' where a number was expected"));
  EXPECT_THAT(spec_error({"flip 2"}), HasSubstr("'flip PROBABILITY' with 0 to 1"));
  EXPECT_THAT(spec_error({"cutout -1"}), HasSubstr("'cutout -1'"));
  EXPECT_THAT(spec_error({"colour-jitter 0.1 0.1 0.1 0.6"}), HasSubstr("hue at most 0.5"));
  EXPECT_THAT(spec_error({"random-resized-crop 8 0.5"}), HasSubstr("'random-resized-crop 8 0.5'"));
  EXPECT_THAT(spec_error({"normalise 0.5"}), HasSubstr("as many means as deviations"));
  EXPECT_THAT(spec_error({"normalise 0 0 1 1"}), HasSubstr("of 2 channels; the images have 3"));
  EXPECT_THAT(spec_error({"flipp"}), HasSubstr("no transform 'flipp'. Did you mean 'flip'?"));
  EXPECT_THAT(spec_error({" "}), HasSubstr("A transform is empty"));
}

TEST(TransformTest, OrderIsChecked) {
  EXPECT_THAT(spec_error({"normalise", "flip"}), HasSubstr("'flip' works on bytes and comes after 'normalise'"));
  EXPECT_THAT(spec_error({"cutout 2", "normalise"}),
              HasSubstr("'normalise' comes after 'cutout 2'; the images are normalised already"));
  EXPECT_THAT(spec_error({"colour-jitter 0.4"}, {2, 8, 8}), HasSubstr("these have 2 channels"));
}

}  // namespace
}  // namespace nascent
