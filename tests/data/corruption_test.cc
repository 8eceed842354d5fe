#include "nascent/data/corruption.h"

#include <gmock/gmock.h>

#include <cmath>

#include "nascent/core/error.h"
#include "nascent/data/transform_pipeline.h"

namespace nascent {
namespace {

const ChannelStatistics identity{{0}, {1.0 / 255}};

// A photograph of sorts: a bright blob on a slope, with colours.
Image picture() {
  Image image{3, 32, 32, {}};
  for (int y = 0; y < 32; ++y) {
    for (int x = 0; x < 32; ++x) {
      const double blob = std::exp(-((x - 20.0) * (x - 20.0) + (y - 12.0) * (y - 12.0)) / 30);
      for (int c = 0; c < 3; ++c)
        image.pixels.push_back(
            static_cast<uint8_t>(40 + 3 * x + 90 * blob * (c == 0) + 15 * c + 20 * ((x / 4 + y / 4) % 2)));
    }
  }
  return image;
}

std::vector<float> run(const std::string& spec, Image image, uint64_t number = 0) {
  const TransformPipeline pipeline({spec}, identity, image.shape());
  Image scratch;
  RandomStream random(1, "test", {number});
  std::vector<float> out(pipeline.output().count());
  pipeline.apply(image, scratch, random, out.data());
  return out;
}

std::vector<std::string> corruptions() {
  std::vector<std::string> names;
  for (const auto& name : Transform::Registry::instance().names()) {
    if (name.starts_with("corrupt ")) names.push_back(name);
  }
  return names;
}

double distance(const std::vector<float>& a, const Image& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += std::abs(a[i] - static_cast<float>(b.pixels[i]));
  return sum / static_cast<double>(a.size());
}

TEST(Corruption, AllFifteenChangeImagesAndStayInRange) {
  ASSERT_EQ(corruptions().size(), 15u);
  const Image image = picture();
  for (const auto& name : corruptions()) {
    for (int severity = 1; severity <= 5; ++severity) {
      const auto out = run(name + " " + std::to_string(severity), image);
      EXPECT_GT(distance(out, image), 0.05) << name << severity;
      EXPECT_GE(*std::min_element(out.begin(), out.end()), 0) << name;
      EXPECT_LE(*std::max_element(out.begin(), out.end()), 255.01) << name;
      EXPECT_EQ(out, run(name + " " + std::to_string(severity), image)) << "the same numbers again";
    }
  }
}

// Where the constants grow with the severity, so does the damage; over several draws for those that draw.
TEST(Corruption, SeverityFiveIsWorseThanOne) {
  const Image image = picture();
  for (const auto& name : corruptions()) {
    if (name == "corrupt saturate" || name == "corrupt elastic") continue;  // their steps are of different kinds
    double first = 0, last = 0;
    for (uint64_t i = 0; i < 5; ++i) {
      first += distance(run(name + " 1", image, i), image);
      last += distance(run(name + " 5", image, i), image);
    }
    EXPECT_GT(last, 1.2 * first) << name;
  }
}

// Noise of deviation 0.08 on mid-grey; contrast and brightness by hand.
TEST(Corruption, KnownConstants) {
  Image grey{1, 64, 64, std::vector<uint8_t>(64 * 64, 128)};
  double squares = 0;
  for (const float x : run("corrupt gaussian-noise 3", grey)) squares += (x - 128) * (x - 128) / (64.0 * 64);
  EXPECT_NEAR(std::sqrt(squares) / 255, 0.08, 0.004);
  Image two{1, 1, 2, {100, 200}};
  EXPECT_THAT(run("corrupt contrast 2", two), testing::ElementsAre(125, 175));
  Image colour{3, 1, 1, {100, 50, 0}};
  const auto bright = run("corrupt brightness 4", colour);  // value 100 + 51, hue and saturation as they were
  EXPECT_NEAR(bright[0], 151, 1);
  EXPECT_NEAR(bright[1], 75.5, 1);
  EXPECT_NEAR(bright[2], 0, 1);
  const auto dull = run("corrupt saturate 1", colour);  // saturation 1 becomes 0.3
  EXPECT_NEAR(dull[0], 100, 1);
  EXPECT_NEAR(dull[2], 70, 1);
}

// A flat image has nothing to blur, bend or pixelate.
TEST(Corruption, BlursLeaveFlatImagesAlone) {
  const Image flat{3, 16, 16, std::vector<uint8_t>(3 * 16 * 16, 77)};
  for (const std::string name : {"gaussian-blur", "defocus-blur", "motion-blur", "zoom-blur", "pixelate", "elastic"}) {
    for (const float x : run("corrupt " + name + " 5", flat)) EXPECT_NEAR(x, 77, 0.6) << name;
  }
}

TEST(Corruption, SaysWhatWasExpected) {
  EXPECT_THAT([] { run("corrupt fog 6", picture()); }, testing::ThrowsMessage<Error>(testing::HasSubstr("1 to 5")));
  EXPECT_THAT([] { run("corrupt fogg 3", picture()); }, testing::ThrowsMessage<Error>(testing::HasSubstr("fogg")));
}

}  // namespace
}  // namespace nascent
