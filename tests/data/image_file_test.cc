#include "nascent/data/image_file.h"

#include "data/fixtures.h"

namespace nascent {
namespace {

using ::testing::HasSubstr;

class ImageFileTest : public DataTest {
 protected:
  Image read(const std::string& name) {
    Image image;
    read_image_file(path(name), image);
    return image;
  }
};

void expect_solid(const Image& image, const Shape& shape, int r, int g, int b, int tolerance) {
  ASSERT_EQ(image.shape(), shape);
  ASSERT_EQ(static_cast<int64_t>(image.pixels.size()), shape.count());
  for (size_t i = 0; i < image.pixels.size(); i += 3) {
    EXPECT_NEAR(image.pixels[i], r, tolerance);
    EXPECT_NEAR(image.pixels[i + 1], g, tolerance);
    EXPECT_NEAR(image.pixels[i + 2], b, tolerance);
  }
}

TEST_F(ImageFileTest, ReadsJpeg) {
  write_jpeg(path("a.jpg"), solid_image(5, 9, 200, 100, 50));
  expect_solid(read("a.jpg"), {3, 5, 9}, 200, 100, 50, 3);
  EXPECT_EQ(read_image_shape(path("a.jpg")), (Shape{3, 5, 9}));
}

TEST_F(ImageFileTest, TurnsGreyJpegToRgb) {
  Image grey;
  grey.reshape({1, 4, 6});
  std::fill(grey.pixels.begin(), grey.pixels.end(), 77);
  write_jpeg(path("grey.jpg"), grey, JCS_GRAYSCALE);
  expect_solid(read("grey.jpg"), {3, 4, 6}, 77, 77, 77, 1);
}

// libjpeg writes Adobe's marker, so the ink is taken as inverted: red = c * k / 255.
TEST_F(ImageFileTest, TurnsCmykJpegToRgb) {
  Image ink;
  ink.reshape({4, 4, 6});
  for (size_t i = 0; i < ink.pixels.size(); i += 4) {
    ink.pixels[i] = 200, ink.pixels[i + 1] = 100, ink.pixels[i + 2] = 0, ink.pixels[i + 3] = 128;
  }
  write_jpeg(path("ink.jpg"), ink, JCS_CMYK);
  expect_solid(read("ink.jpg"), {3, 4, 6}, 100, 50, 0, 3);
}

TEST_F(ImageFileTest, ReadsPngExactly) {
  write_png(path("a.png"), solid_image(3, 4, 1, 2, 3));
  expect_solid(read("a.png"), {3, 3, 4}, 1, 2, 3, 0);
  EXPECT_EQ(read_image_shape(path("a.png")), (Shape{3, 3, 4}));
}

TEST_F(ImageFileTest, TurnsGreyPngToRgbAndDropsTransparency) {
  Image grey, clear;
  grey.reshape({1, 2, 2});
  std::fill(grey.pixels.begin(), grey.pixels.end(), 9);
  write_png(path("grey.png"), grey);
  expect_solid(read("grey.png"), {3, 2, 2}, 9, 9, 9, 0);
  clear.reshape({4, 1, 1});
  clear.pixels = {10, 20, 30, 128};
  write_png(path("clear.png"), clear);
  expect_solid(read("clear.png"), {3, 1, 1}, 10, 20, 30, 0);
}

TEST_F(ImageFileTest, TellsTheFormatByContent) {
  write_png(path("really.jpg"), solid_image(3, 4, 1, 2, 3));
  expect_solid(read("really.jpg"), {3, 3, 4}, 1, 2, 3, 0);
}

TEST_F(ImageFileTest, NamesTruncatedFiles) {
  Image noise;
  noise.reshape({3, 40, 40});
  for (size_t i = 0; i < noise.pixels.size(); ++i) noise.pixels[i] = static_cast<uint8_t>(i * i * 31 >> 3);
  write_jpeg(path("whole.jpg"), noise);
  write_png(path("whole.png"), noise);
  for (const std::string kind : {"jpg", "png"}) {
    const std::string bytes = read_file(path("whole." + kind));
    for (const size_t size : {bytes.size() / 2, size_t{20}, bytes.size() * 9 / 10}) {
      write_file(path("cut." + kind), std::string_view(bytes).substr(0, size));
      EXPECT_THAT(error_of([&] { read("cut." + kind); }),
                  HasSubstr(path("cut." + kind) + " is a truncated or corrupt"));
    }
  }
}

TEST_F(ImageFileTest, NamesForeignFiles) {
  write_file(path("text.png"), "GIF89a");
  EXPECT_THAT(error_of([&] { read("text.png"); }),
              HasSubstr("is neither a JPEG nor a PNG file: it starts with 47 49 46 38"));
  write_file(path("empty.jpg"), "");
  EXPECT_THAT(error_of([&] { read("empty.jpg"); }), HasSubstr("it is empty"));
  EXPECT_THAT(error_of([&] { read("none.jpg"); }), HasSubstr("none.jpg"));
}

TEST_F(ImageFileTest, WhatIsWrittenAsPngIsReadBack) {
  for (const int channels : {1, 3}) {
    Image image;
    image.reshape({channels, 5, 7});
    for (size_t i = 0; i < image.pixels.size(); ++i) image.pixels[i] = static_cast<uint8_t>(7 * i + channels);
    Image back;
    decode_png(encode_png(image), "mine.png", back);
    ASSERT_EQ(back.shape(), (Shape{3, 5, 7}));
    for (size_t i = 0; i < back.pixels.size(); ++i) EXPECT_EQ(back.pixels[i], image.pixels[channels == 1 ? i / 3 : i]);
  }
  Image two;
  two.reshape({2, 1, 1});
  EXPECT_THROW(encode_png(two), Error);
}

}  // namespace
}  // namespace nascent
