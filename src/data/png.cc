// PNG by way of libpng's simplified interface.
#include <png.h>

#include <cstring>

#include "nascent/core/error.h"
#include "nascent/data/image_file.h"

namespace nascent {
namespace {

struct PngImage {
  png_image image;

  PngImage() {
    std::memset(&image, 0, sizeof(image));
    image.version = PNG_IMAGE_VERSION;
  }
  ~PngImage() { png_image_free(&image); }
  PngImage(const PngImage&) = delete;
  PngImage& operator=(const PngImage&) = delete;
};

[[noreturn]] void fail_png(const std::string& name, const PngImage& decoder) {
  fail("{} is a truncated or corrupt PNG file: {}. Fetch it again or remove it.", name, decoder.image.message);
}

Shape read_header(PngImage& decoder, std::string_view bytes, const std::string& name) {
  if (png_image_begin_read_from_memory(&decoder.image, bytes.data(), bytes.size()) == 0) fail_png(name, decoder);
  check_image_size(decoder.image.height, decoder.image.width, name);
  return {3, static_cast<int>(decoder.image.height), static_cast<int>(decoder.image.width)};
}

}  // namespace

Shape png_shape(std::string_view bytes, const std::string& name) {
  PngImage decoder;
  return read_header(decoder, bytes, name);
}

void decode_png(std::string_view bytes, const std::string& name, Image& image) {
  PngImage decoder;
  const Shape shape = read_header(decoder, bytes, name);
  // Transparency is left out after decoding, as most image libraries do; asked for RGB, libpng would blend with a
  // background.
  decoder.image.format = PNG_FORMAT_RGBA;
  decoder.image.flags |= PNG_IMAGE_FLAG_16BIT_sRGB;
  image.reshape({4, shape.height, shape.width});
  if (png_image_finish_read(&decoder.image, nullptr, image.pixels.data(), 0, nullptr) == 0) fail_png(name, decoder);
  const int64_t pixels = int64_t{shape.height} * shape.width;
  for (int64_t i = 0; i < pixels; ++i) {
    for (int c = 0; c < 3; ++c) image.pixels[3 * i + c] = image.pixels[4 * i + c];
  }
  image.reshape(shape);
}

std::string encode_png(const Image& image) {
  if (image.channels != 1 && image.channels != 3) {
    fail("An image of {} channels cannot be written as PNG; expected 1 or 3.", image.channels);
  }
  PngImage encoder;
  encoder.image.width = image.width;
  encoder.image.height = image.height;
  encoder.image.format = image.channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(encoder.image);
  std::string bytes(size, '\0');
  if (png_image_write_to_memory(&encoder.image, bytes.data(), &size, 0, image.pixels.data(), 0, nullptr) == 0) {
    fail("An image of {} could not be written as PNG: {}.", image.shape().text(), encoder.image.message);
  }
  bytes.resize(size);
  return bytes;
}

}  // namespace nascent
