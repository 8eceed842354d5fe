// TIFF by way of libtiff: the first picture of the file.
#ifdef NASCENT_HAS_TIFF
#include <tiffio.h>

#include <cstring>
#include <memory>

#include "nascent/core/error.h"
#include "nascent/data/image_file.h"

namespace nascent {
namespace {

struct TiffSource {
  std::string_view bytes;
  uint64_t at = 0;

  static tmsize_t read(thandle_t handle, void* out, tmsize_t count) {
    auto& source = *static_cast<TiffSource*>(handle);
    const uint64_t left = source.at < source.bytes.size() ? source.bytes.size() - source.at : 0;
    const auto taken = static_cast<tmsize_t>(std::min<uint64_t>(left, count));
    std::memcpy(out, source.bytes.data() + source.at, taken);
    source.at += taken;
    return taken;
  }
  static tmsize_t write(thandle_t, void*, tmsize_t) { return 0; }
  static toff_t seek(thandle_t handle, toff_t offset, int whence) {
    auto& source = *static_cast<TiffSource*>(handle);
    source.at = offset + (whence == SEEK_CUR ? source.at : whence == SEEK_END ? source.bytes.size() : 0);
    return source.at;
  }
  static int close(thandle_t) { return 0; }
  static toff_t size(thandle_t handle) { return static_cast<TiffSource*>(handle)->bytes.size(); }
};

[[noreturn]] void fail_tiff(const std::string& name) {
  fail("{} is a truncated or corrupt TIFF file, or of a kind that is not read. Save it as PNG, or remove it.", name);
}

struct CloseTiff {
  void operator()(TIFF* file) const { TIFFClose(file); }
};
using TiffFile = std::unique_ptr<TIFF, CloseTiff>;

TiffFile open_tiff(TiffSource& source, const std::string& name) {
  // What is wrong is said once, by fail_tiff.
  [[maybe_unused]] static const auto quiet = (TIFFSetWarningHandler(nullptr), TIFFSetErrorHandler(nullptr));
  TiffFile file(TIFFClientOpen(name.c_str(), "rm", &source, TiffSource::read, TiffSource::write, TiffSource::seek,
                               TiffSource::close, TiffSource::size, nullptr, nullptr));
  if (!file) fail_tiff(name);
  return file;
}

Shape shape_of_tiff(TIFF* file, const std::string& name) {
  uint32_t height = 0, width = 0;
  if (TIFFGetField(file, TIFFTAG_IMAGELENGTH, &height) == 0 || TIFFGetField(file, TIFFTAG_IMAGEWIDTH, &width) == 0) {
    fail_tiff(name);
  }
  check_image_size(height, width, name);
  return {3, static_cast<int>(height), static_cast<int>(width)};
}

}  // namespace

Shape tiff_shape(std::string_view bytes, const std::string& name) {
  TiffSource source{bytes};
  return shape_of_tiff(open_tiff(source, name).get(), name);
}

void decode_tiff(std::string_view bytes, const std::string& name, Image& image) {
  TiffSource source{bytes};
  const TiffFile file = open_tiff(source, name);
  const Shape shape = shape_of_tiff(file.get(), name);
  std::vector<uint32_t> pixels(static_cast<size_t>(shape.height) * shape.width);
  if (TIFFReadRGBAImageOriented(file.get(), shape.width, shape.height, pixels.data(), ORIENTATION_TOPLEFT, 1) == 0) {
    fail_tiff(name);
  }
  image.reshape(shape);
  for (size_t i = 0; i < pixels.size(); ++i) {
    image.pixels[3 * i] = TIFFGetR(pixels[i]);
    image.pixels[3 * i + 1] = TIFFGetG(pixels[i]);
    image.pixels[3 * i + 2] = TIFFGetB(pixels[i]);
  }
}

}  // namespace nascent
#endif
