// Small data sets written on the fly, in every format that the data room reads.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <png.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>
// After <cstdio>, which libjpeg's header needs.
#include <jpeglib.h>
#include <zlib.h>

#include "core/pickle_fixtures.h"
#include "errors.h"
#include "nascent/core/files.h"
#include "nascent/data/image.h"
#include "nascent/data/memory_dataset.h"
#include "temporary_folder.h"

namespace nascent {

namespace fs = std::filesystem;

// An environment variable for as long as the object lives.
class Environment {
 public:
  Environment(std::string name, const std::string& value) : name_(std::move(name)) {
    if (const char* old = std::getenv(name_.c_str())) old_ = old;
    ::setenv(name_.c_str(), value.c_str(), 1);
  }
  ~Environment() { old_.empty() ? ::unsetenv(name_.c_str()) : ::setenv(name_.c_str(), old_.c_str(), 1); }

 private:
  std::string name_, old_;
};

// A folder of its own for each test, and caches kept inside it.
class DataTest : public ::testing::Test {
 protected:
  DataTest() : cache_("XDG_CACHE_HOME", path("cache")) {}

  const fs::path& folder() const { return folder_.path(); }
  std::string path(const std::string& name) const { return (folder() / name).string(); }

 private:
  TemporaryFolder folder_;
  Environment cache_;
};

inline std::string big_endian_text(uint32_t value) {
  return {static_cast<char>(value >> 24), static_cast<char>(value >> 16), static_cast<char>(value >> 8),
          static_cast<char>(value)};
}

inline std::string idx_text(const std::vector<uint32_t>& sizes, const std::string& values) {
  std::string text = big_endian_text(0x800 + static_cast<uint32_t>(sizes.size()));
  for (const uint32_t size : sizes) text += big_endian_text(size);
  return text + values;
}

inline void write_gzip(const fs::path& path, const std::string& text) {
  gzFile out = gzopen(path.c_str(), "wb");
  ASSERT_EQ(gzwrite(out, text.data(), static_cast<unsigned>(text.size())), static_cast<int>(text.size()));
  gzclose(out);
}

// Two training images of 2x3 with labels 4 and 9, one test image with label 0.
inline void write_idx_folder(const fs::path& folder) {
  write_file(folder / "train-images-idx3-ubyte", idx_text({2, 2, 3}, "abcdefghijkl"));
  write_file(folder / "train-labels-idx1-ubyte", idx_text({2}, {4, 9}));
  write_gzip(folder / "t10k-images-idx3-ubyte.gz", idx_text({1, 2, 3}, "uvwxyz"));
  write_gzip(folder / "t10k-labels-idx1-ubyte.gz", idx_text({1}, std::string(1, '\0')));
}

inline Image solid_image(int height, int width, uint8_t r, uint8_t g, uint8_t b) {
  Image image;
  image.reshape({3, height, width});
  for (size_t i = 0; i < image.pixels.size(); i += 3) {
    image.pixels[i] = r, image.pixels[i + 1] = g, image.pixels[i + 2] = b;
  }
  return image;
}

// Any number of channels that the colour space has; Adobe's marker is written for CMYK as libjpeg does.
inline void write_jpeg(const fs::path& path, const Image& image, J_COLOR_SPACE space = JCS_RGB) {
  jpeg_compress_struct info{};
  jpeg_error_mgr errors{};
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  unsigned char* bytes = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&info, &bytes, &size);
  info.image_width = image.width, info.image_height = image.height;
  info.input_components = image.channels, info.in_color_space = space;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, 100, TRUE);
  jpeg_start_compress(&info, TRUE);
  for (int y = 0; y < image.height; ++y) {
    JSAMPROW row = const_cast<uint8_t*>(image.row(y));
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  write_file(path, {reinterpret_cast<char*>(bytes), size});
  std::free(bytes);
}

// Grey, RGB or RGBA by the number of channels.
inline void write_png(const fs::path& path, const Image& image) {
  png_image png;
  std::memset(&png, 0, sizeof(png));
  png.version = PNG_IMAGE_VERSION;
  png.width = image.width, png.height = image.height;
  png.format = image.channels == 1 ? PNG_FORMAT_GRAY : image.channels == 3 ? PNG_FORMAT_RGB : PNG_FORMAT_RGBA;
  fs::create_directories(path.parent_path());
  ASSERT_NE(png_image_write_to_file(&png, path.c_str(), 0, image.pixels.data(), 0, nullptr), 0) << png.message;
}

// `size` images of 3 channels in memory, whose bytes count up; label i % 10.
inline std::shared_ptr<const MemoryDataset> counting_dataset(int size, int height, int width) {
  MemoryDataset::Contents contents{"counting", {3, height, width}, {}, {}, std::vector<std::string>(10, "c"), {}};
  contents.pixels.resize(size * contents.shape.count());
  for (size_t i = 0; i < contents.pixels.size(); ++i) contents.pixels[i] = static_cast<uint8_t>(i * 31 + i / 256);
  for (int i = 0; i < size; ++i) contents.labels.push_back(i % 10);
  return std::make_shared<MemoryDataset>(std::move(contents));
}

}  // namespace nascent
