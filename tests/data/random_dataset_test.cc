#include "data/fixtures.h"
#include "nascent/data/statistics.h"

namespace nascent {
namespace {

using ::testing::HasSubstr;

class RandomDatasetTest : public DataTest {
 protected:
  RandomDatasetTest() {
    options_.name = "random";
    options_.shape = {2, 5, 7};
    options_.classes = 4;
    options_.size = 200;
  }

  std::vector<uint8_t> pixels(Part part, uint64_t seed) {
    Image image;
    load_dataset(options_, part, seed)->read(3, image);
    return image.pixels;
  }

  DataOptions options_;
};

TEST_F(RandomDatasetTest, IsDeterminedBySeedAndPart) {
  EXPECT_EQ(pixels(Part::train, 1), pixels(Part::train, 1));
  EXPECT_NE(pixels(Part::train, 1), pixels(Part::train, 2));
  EXPECT_NE(pixels(Part::train, 1), pixels(Part::test, 1));
}

TEST_F(RandomDatasetTest, HasTheAskedShapeAndClasses) {
  const auto dataset = load_dataset(options_, Part::train, 1);
  EXPECT_EQ(dataset->shape(), (Shape{2, 5, 7}));
  EXPECT_EQ(dataset->size(), 200);
  std::vector<int> count(4);
  for (int64_t i = 0; i < dataset->size(); ++i) ++count.at(dataset->label(i));
  for (const int n : count) EXPECT_GT(n, 25);
}

TEST_F(RandomDatasetTest, IsGaussian) {
  const ChannelStatistics statistics = channel_statistics(*load_dataset(options_, Part::train, 1));
  EXPECT_NEAR(statistics.mean[1], 0.5, 0.01);
  EXPECT_NEAR(statistics.deviation[1], 32.0 / 255, 0.01);
}

TEST_F(RandomDatasetTest, RefusesImpossibleShapes) {
  for (const auto& shape : std::vector<std::vector<double>>{{3, 32}, {3, 0, 3}, {1.5, 2, 2}}) {
    options_.shape = shape;
    EXPECT_THAT(error_of([&] { load_dataset(options_, Part::train, 1); }), HasSubstr("such as [3, 32, 32]"));
  }
}

TEST_F(RandomDatasetTest, RandomLabelsReplaceThoseOfAnySet) {
  write_idx_folder(folder());
  options_.name = "mnist";
  options_.path = folder().string();
  const auto labels = [&](uint64_t seed) {
    const auto dataset = load_dataset(options_, Part::train, seed);
    return std::vector<int64_t>{dataset->label(0), dataset->label(1)};
  };
  const auto original = labels(1);
  EXPECT_EQ(original, labels(2));
  options_.random_labels = true;
  EXPECT_EQ(labels(1), labels(1));
  bool differs = false;
  for (uint64_t seed = 0; seed < 5; ++seed) differs = differs || labels(seed) != original;
  EXPECT_TRUE(differs);
  EXPECT_EQ(load_dataset(options_, Part::train, 1)->name(), "mnist");
}

TEST_F(RandomDatasetTest, UnknownNamesAreAnsweredWithTheKnown) {
  options_.name = "cifar-10";
  EXPECT_THAT(error_of([&] { load_dataset(options_, Part::train, 1); }),
              HasSubstr("no data set 'cifar-10'. Did you mean 'cifar10'?"));
}

}  // namespace
}  // namespace nascent
