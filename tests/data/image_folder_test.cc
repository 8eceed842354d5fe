#include "data/fixtures.h"
#include "nascent/data/image_data.h"
#include "nascent/data/loader.h"

namespace nascent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ImageFolderTest : public DataTest {
 protected:
  ImageFolderTest() {
    options_.name = "image-folder";
    options_.path = folder().string();
    options_.valid_fraction = 0;
  }

  void write_pictures() {
    write_jpeg(path("train/cat/1.JPG"), solid_image(20, 30, 200, 0, 0));
    write_png(path("train/cat/2.png"), solid_image(40, 25, 0, 200, 0));
    write_png(path("train/ant/deep/3.png"), solid_image(10, 10, 0, 0, 200));
    write_file(path("train/cat/notes.txt"), "not a picture");
    write_png(path("val/cat/4.png"), solid_image(10, 10, 5, 6, 7));
  }

  DataOptions options_;
};

TEST_F(ImageFolderTest, DiscoversClassesAndFiles) {
  write_pictures();
  const auto train = load_dataset(options_, Part::train, 1), test = load_dataset(options_, Part::test, 1);
  EXPECT_THAT(train->class_names(), ElementsAre("ant", "cat"));
  ASSERT_EQ(train->size(), 3);
  EXPECT_EQ(train->shape(), (Shape{3, 0, 0}));
  EXPECT_EQ(train->label(0), 0);
  EXPECT_EQ(train->label(2), 1);
  Image image;
  train->read(2, image);
  EXPECT_EQ(image.shape(), (Shape{3, 40, 25}));
  EXPECT_EQ(test->size(), 1);
  EXPECT_EQ(test->label(0), 1);
  EXPECT_EQ(test->shape(), (Shape{3, 10, 10}));
}

TEST_F(ImageFolderTest, LoadsBatchesOfOneSize) {
  write_pictures();
  options_.batch = 2;
  const ImageData data(options_, 1);
  EXPECT_EQ(data.shape(), (Shape{3, 224, 224}));
  const auto train = data.training(data.split().train, "train");
  train->start(0);
  EXPECT_EQ(train->next()->size, 2);
  EXPECT_FALSE(train->next()) << "the last batch is not full";
  const auto all = data.evaluation(data.all());
  all->start(0);
  EXPECT_EQ(all->next()->size, 3);
}

TEST_F(ImageFolderTest, AsksForATransformThatFixesTheSize) {
  write_pictures();
  options_.train_transforms = {"flip"};
  options_.batch = 1;
  const std::string error = error_of([&] {
    const ImageData data(options_, 1);
    data.training(data.all(), "train");
  });
  EXPECT_THAT(error, HasSubstr("differ in size and the transforms [flip, normalise] leave them so"));
}

TEST_F(ImageFolderTest, ACorruptFileSurfacesInNext) {
  write_pictures();
  const auto train = load_dataset(options_, Part::train, 1);
  const TransformPipeline transforms({"resize 8 8", "normalise 0.5 0.5"}, {}, train->shape());
  write_file(path("train/cat/2.png"), "broken");
  Loader loader(train, {0, 1, 2}, transforms, {.batch = 1, .workers = 2});
  loader.start(0);
  EXPECT_TRUE(loader.next());
  EXPECT_TRUE(loader.next());
  EXPECT_THAT(error_of([&] { loader.next(); }), HasSubstr("cat/2.png is neither"));
  EXPECT_FALSE(loader.next());
  loader.start(1);
  EXPECT_TRUE(loader.next());
}

TEST_F(ImageFolderTest, SaysWhatIsMissing) {
  const auto load = [&](Part part) { return error_of([&] { load_dataset(options_, part, 1); }); };
  EXPECT_THAT(load(Part::train), HasSubstr("Expected: train/ and val/"));
  write_pictures();
  fs::create_directories(path("train/empty"));
  EXPECT_THAT(load(Part::train), HasSubstr("train/empty holds no JPEG or PNG file"));
  fs::remove(path("train/empty"));
  fs::rename(path("val/cat"), path("val/cta"));
  EXPECT_THAT(load(Part::test), HasSubstr("Did you mean 'cat'?"));
  fs::remove_all(path("val"));
  EXPECT_THAT(load(Part::test), HasSubstr("neither val/, valid/ nor test/"));
  options_.path = "";
  EXPECT_THAT(load(Part::train), HasSubstr("needs a path"));
}

}  // namespace
}  // namespace nascent
