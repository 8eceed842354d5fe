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
    write_png(path("val/ant/5.png"), solid_image(10, 10, 7, 6, 5));
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
  EXPECT_EQ(test->size(), 2);
  EXPECT_EQ(test->label(1), 1);
  EXPECT_EQ(test->shape(), (Shape{3, 10, 10}));
}

TEST_F(ImageFolderTest, LoadsBatchesOfOneSize) {
  write_pictures();
  options_.batch = 2;
  const ImageData data(options_, 1);
  EXPECT_EQ(data.shape(), (Shape{3, 20, 20})) << "as many pixels as half of the pictures have";
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
  EXPECT_THAT(error_of([&] { loader.next(); }), HasSubstr("cat/2.png is not a JPEG, PNG"));
  EXPECT_FALSE(loader.next());
  loader.start(1);
  EXPECT_TRUE(loader.next());
}

TEST_F(ImageFolderTest, SaysWhatIsMissing) {
  const auto load = [&](Part part) { return error_of([&] { load_dataset(options_, part, 1); }); };
  EXPECT_THAT(load(Part::train), HasSubstr("Expected: train/ and val/"));
  write_pictures();
  fs::create_directories(path("train/empty"));
  EXPECT_THAT(load(Part::train), HasSubstr("train/empty holds no JPEG, PNG"));
  fs::remove(path("train/empty"));
  fs::rename(path("val/cat"), path("val/cta"));
  EXPECT_THAT(load(Part::test), HasSubstr("Did you mean 'cat'?"));
  fs::remove_all(path("val/cta"));
  EXPECT_THAT(load(Part::test), HasSubstr("val has no folder 'cat'"));
  options_.path = "";
  EXPECT_THAT(load(Part::train), HasSubstr("needs a path"));
}

// 32-pixel pictures were blown up to 224: 49 times the work.
TEST_F(ImageFolderTest, SizesAreThoseOfThePictures) {
  options_.path = path("pets");
  const auto side_of = [&](int side) {
    fs::remove_all(path("pets/a"));
    fs::remove_all(path("pets/b"));
    for (int i = 0; i < 3; ++i) {
      write_png(path(fmt::format("pets/a/{}.png", i)), solid_image(side, side + i, 9, 50, 100));
      write_png(path(fmt::format("pets/b/{}.png", i)), solid_image(side + 1, side, 100, 20, 9));
    }
    return ImageData(options_, 1).shape();
  };
  EXPECT_EQ(side_of(32), (Shape{3, 32, 32}));
  EXPECT_EQ(side_of(131), (Shape{3, 128, 128}));
  EXPECT_EQ(side_of(500), (Shape{3, 224, 224}));
}

TEST_F(ImageFolderTest, AFolderWithoutPartsIsSplitTheSameWayForEverySeed) {
  options_.path = path("pets");
  for (int i = 0; i < 10; ++i) write_png(path(fmt::format("pets/cat/{}.png", i)), solid_image(8, 8, 10 * i, 1, 2));
  for (int i = 0; i < 3; ++i) write_png(path(fmt::format("pets/ant/{}.png", i)), solid_image(8, 8, 1, 2, 50 * i));
  const auto reds = [&](Part part, uint64_t seed) {
    const auto data = load_dataset(options_, part, seed);
    std::vector<std::vector<uint8_t>> pixels;
    Image image;
    for (int64_t i = 0; i < data->size(); ++i) {
      data->read(i, image);
      pixels.push_back({image.pixels.begin(), image.pixels.begin() + 3});
    }
    return pixels;
  };
  auto train = reds(Part::train, 1), test = reds(Part::test, 1);
  EXPECT_EQ(test.size(), 3u) << "2 of 10 and 1 of 3";
  EXPECT_EQ(test, reds(Part::test, 2));
  train.insert(train.end(), test.begin(), test.end());
  std::sort(train.begin(), train.end());
  EXPECT_EQ(std::unique(train.begin(), train.end()), train.end()) << "no picture is in both parts";
  EXPECT_EQ(train.size(), 13u);
  const auto notes = load_dataset(options_, Part::train, 1)->notes();
  EXPECT_THAT(notes, testing::Contains(HasSubstr("20 % of the pictures of each class are set aside")));
  EXPECT_THAT(notes, testing::Contains(HasSubstr("'cat' has 10 pictures, 'ant' has 3")));
}

TEST_F(ImageFolderTest, AllDamagedPicturesAreNamedAtOnce) {
  write_pictures();
  write_png(path("train/ant/6.png"), solid_image(9, 9, 1, 2, 3));
  write_file(path("train/cat/2.png"), "broken");
  write_file(path("val/ant/5.png"), "too");
  const std::string error = error_of([&] { ImageData(options_, 1); });
  EXPECT_THAT(
      error, testing::AllOf(HasSubstr("2 of 6 images cannot be read"), HasSubstr("cat/2.png"), HasSubstr("ant/5.png")));
}

TEST_F(ImageFolderTest, GreyPicturesHaveOneChannel) {
  options_.path = path("pets");
  for (const char* name : {"pets/a/1.png", "pets/a/2.png", "pets/b/1.png", "pets/b/2.png"}) {
    write_png(path(name), solid_image(12, 12, 70, 70, 70));
  }
  EXPECT_EQ(ImageData(options_, 1).shape(), (Shape{1, 12, 12}));
  write_png(path("pets/b/2.png"), solid_image(12, 12, 70, 80, 70));
  EXPECT_EQ(ImageData(options_, 1).shape(), (Shape{3, 12, 12}));
}

// Labels are not pictures: swapping them changed no checksum.
TEST_F(ImageFolderTest, TheDigestSeesLabels) {
  options_.path = path("pets");
  for (const char* name : {"pets/a/1.png", "pets/a/2.png", "pets/b/3.png", "pets/b/4.png"})
    write_png(path(name), solid_image(9, 9, 1, 2, 3));
  const uint32_t before = ImageData(options_, 1).digest();
  EXPECT_EQ(ImageData(options_, 1).digest(), before);
  options_.valid_fraction = 0.5;
  EXPECT_NE(ImageData(options_, 1).digest(), before);
  options_.valid_fraction = 0;
  fs::rename(path("pets/a/1.png"), path("pets/b/1.png"));
  fs::rename(path("pets/b/3.png"), path("pets/a/3.png"));
  EXPECT_NE(ImageData(options_, 1).digest(), before);
}

}  // namespace
}  // namespace nascent
