#include "nascent/data/image_data.h"

#include "data/fixtures.h"

namespace nascent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ImageDataTest : public DataTest {
 protected:
  ImageDataTest() {
    options_.name = "random";
    options_.size = 40;
    options_.shape = {3, 8, 8};
  }

  DataOptions options_;
};

TEST_F(ImageDataTest, LoadsSplitsAndTransforms) {
  options_.limit = 20;
  options_.limit_test = 7;
  options_.train_transforms = {"flip", "cutout 2"};
  options_.batch = 4;
  const ImageData data(options_, 1);
  EXPECT_EQ(data.split().train.size(), 10u);
  EXPECT_EQ(data.split().valid.size(), 10u);
  EXPECT_EQ(data.all().size(), 20u);
  EXPECT_EQ(data.test_size(), 7);
  EXPECT_THAT(data.train_transforms(), ElementsAre("flip", "cutout 2"));
  EXPECT_EQ(data.shape(), (Shape{3, 8, 8}));
  EXPECT_EQ(data.training(data.split().train, "train")->batches(), 2) << "the last batch is not full";
  EXPECT_EQ(data.evaluation(data.all())->size(), 20);
  EXPECT_EQ(data.testing()->size(), 7);
  EXPECT_THAT(data.describe(), HasSubstr("10 training, 10 validation and 7 test images"));
}

TEST_F(ImageDataTest, NormalisesWithGivenStatistics) {
  const ImageData own(options_, 1);
  const ImageData given(options_, 1, ChannelStatistics{{0, 0, 0}, {1, 1, 1}});
  EXPECT_NEAR(own.statistics().mean[0], 0.5, 0.1);
  EXPECT_EQ(given.statistics().mean[0], 0);
  const auto pixels = [](const ImageData& data) {
    auto loader = data.testing();
    loader->start(0);
    return loader->next()->pixels;
  };
  EXPECT_NE(pixels(own), pixels(given));
}

TEST_F(ImageDataTest, RefusesTooFewImagesForABatch) {
  options_.limit = 20;
  const ImageData data(options_, 1);
  EXPECT_THAT(error_of([&] { data.training(data.split().train, "train"); }), HasSubstr("fewer than one batch of 64"));
  options_.valid_fraction = 0;
  EXPECT_THAT(error_of([&] { ImageData(options_, 1).training({}, "architecture"); }),
              HasSubstr("no images for architecture"));
}

TEST_F(ImageDataTest, RefusesTransformsThatDisagree) {
  options_.train_transforms = {"resize 4 4"};
  EXPECT_THAT(error_of([&] { ImageData(options_, 1); }), HasSubstr("3x4x4 and evaluation images as 3x8x8"));
}

TEST_F(ImageDataTest, RefusesPartsThatDoNotMatch) {
  write_idx_folder(folder());
  write_file(path("t10k-images-idx3-ubyte"), idx_text({1, 1, 1}, "u"));
  options_.name = "mnist";
  options_.path = folder().string();
  EXPECT_THAT(error_of([&] { ImageData(options_, 1); }),
              HasSubstr("training images are 1x2x3 in 10 classes, test images 1x1x1"));
}

TEST_F(ImageDataTest, OptionsAreDeclaredWithRanges) {
  OptionTable table;
  options_.declare(table);
  table.read_assignment("data.limit=5");
  table.read_assignment("data.name=cifar10");
  EXPECT_EQ(options_.limit, 5);
  EXPECT_EQ(options_.name, "cifar10");
  EXPECT_NE(error_of([&] { table.read_assignment("data.batch=0"); }), "");
  EXPECT_NE(error_of([&] { table.read_assignment("data.valid-fraction=1"); }), "");
  EXPECT_THAT(error_of([&] { table.read_assignment("data.name=cifar"); }), HasSubstr("cifar10"));
}

}  // namespace
}  // namespace nascent
