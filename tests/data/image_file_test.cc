#include "nascent/data/image_file.h"

#include <map>

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
  write_file(path("text.png"), "GIF! a text, no picture");
  EXPECT_THAT(error_of([&] { read("text.png"); }), HasSubstr("file: it starts with 47 49 46 21"));
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

std::string from_hex(std::string_view hex) {
  std::string bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  }
  return bytes;
}

// 5 x 3 pixels of (200, 100, 50) but for (10, 20, 250) at the second of the last row, as other programs write them.
TEST_F(ImageFileTest, ReadsWhatOtherProgramsWrite) {
  const std::map<std::string, std::string> files = {
      {"a.bmp",
       "424d660000000000000036000000280000000500000003000000010018000000000030000000c40e0000c40e00000000000000000000326"
       "4c8"
       "fa140a3264c83264c83264c8003264c83264c83264c83264c83264c8003264c83264c83264c83264c83264c800"},
      {"a.gif", "47494638376105000300810000c864320a14fa0000000000002c000000000500030000080b0001081c48104080810101003b"},
      {"a.tif",
       "49492a002000000080320c8328141207058441e15068641414147d42619010000a000001030001000000050000000101030001000000030"
       "000"
       "0002010300030000009e0000000301030001000000050000000601030001000000020000001101040001000000080000001501030001000"
       "000"
       "030000001601030001000000030000001701040001000000170000001c010300010000000100000000000000080008000800"},
      {"a.webp", "5249464624000000574542505650384c170000002f048000000f700aa82bf81e477ffe8307eff888e87f0c00"}};
  int read_formats = 0;
  for (const auto& [name, hex] : files) {
    if (!has_picture_name(name)) continue;  // its library was missing
    ++read_formats;
    const std::string bytes = from_hex(hex);
    write_file(path(name), bytes);
    EXPECT_EQ(read_image_shape(path(name)), (Shape{3, 3, 5})) << name;
    Image image = read(name);
    ASSERT_EQ(image.shape(), (Shape{3, 3, 5})) << name;
    const uint8_t* odd = image.row(2) + 3;
    EXPECT_THAT(std::vector<int>(odd, odd + 3), testing::ElementsAre(10, 20, 250)) << name;
    std::copy_n(image.row(0), 3, image.row(2) + 3);
    expect_solid(image, {3, 3, 5}, 200, 100, 50, 0);
    // Cut anywhere, it is an error, not a crash.
    for (size_t length = 0; length < bytes.size(); ++length) {
      try {
        decode_image(std::string_view(bytes).substr(0, length), name, image);
      } catch (const Error& error) {
        EXPECT_THAT(error.what(), HasSubstr(name));
      }
    }
  }
  EXPECT_GE(read_formats, 1);
}

TEST_F(ImageFileTest, ReadsBmpWithAPalette) {
  std::string bytes = from_hex(
      "424d4a000000000000003e0000002800000005000000fdffffff0100010000000000000000000000"
      "00000000000002000000020000003264c800fa140a00");
  bytes += from_hex("00000000000000004000000000000000").substr(0, 12);  // three rows, the first at the top
  write_file(path("p.bmp"), bytes);
  Image image = read("p.bmp");
  ASSERT_EQ(image.shape(), (Shape{3, 3, 5}));
  const uint8_t* odd = image.row(2) + 3;
  EXPECT_THAT(std::vector<int>(odd, odd + 3), testing::ElementsAre(10, 20, 250));
}

}  // namespace
}  // namespace nascent
