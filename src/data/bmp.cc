// BMP: uncompressed pictures of 1, 4, 8, 24 or 32 bits a pixel, as nearly all are.
#include "nascent/core/error.h"
#include "nascent/data/image_file.h"

namespace nascent {
namespace {

struct BmpHeader {
  int64_t pixels = 0;   // where they begin
  int64_t palette = 0;  // where it begins
  int64_t colours = 0;
  int height = 0, width = 0, bits = 0;
  bool bottom_up = true;
  int64_t row_bytes() const { return (static_cast<int64_t>(width) * bits + 31) / 32 * 4; }
};

uint32_t little_endian(std::string_view bytes, size_t offset, int count) {
  uint32_t value = 0;
  for (int i = count; i-- > 0;) value = value << 8 | static_cast<uint8_t>(bytes[offset + i]);
  return value;
}

[[noreturn]] void fail_bmp(const std::string& name, const std::string& what) {
  fail("{} is a BMP file that cannot be read: {}. Save it as PNG, fetch it again or remove it.", name, what);
}

BmpHeader read_bmp_header(std::string_view bytes, const std::string& name) {
  constexpr size_t kFileHeader = 14, kInfoHeader = 40;
  if (bytes.size() < kFileHeader + kInfoHeader) fail_bmp(name, "it is truncated");
  const uint32_t info = little_endian(bytes, 14, 4);
  if (info < kInfoHeader) fail_bmp(name, "its header is of a kind used before 1990");
  const auto height = static_cast<int32_t>(little_endian(bytes, 22, 4));
  BmpHeader header;
  header.pixels = little_endian(bytes, 10, 4);
  header.palette = static_cast<int64_t>(kFileHeader) + info;
  header.width = static_cast<int32_t>(little_endian(bytes, 18, 4));
  header.bottom_up = height >= 0;
  header.bits = static_cast<int>(little_endian(bytes, 28, 2));
  header.colours = little_endian(bytes, 46, 4);
  check_image_size(height < 0 ? -static_cast<int64_t>(height) : height, header.width, name);
  header.height = std::abs(height);
  const uint32_t compression = little_endian(bytes, 30, 4);
  const bool plain = compression == 0 || (compression == 3 && header.bits == 32);
  const int bits = header.bits;
  if (!plain || !(bits == 1 || bits == 4 || bits == 8 || bits == 24 || bits == 32)) {
    fail_bmp(name, fmt::format("it has {} bits a pixel and compression {}", bits, compression));
  }
  if (bits <= 8 && (header.colours == 0 || header.colours > int64_t{1} << bits)) header.colours = int64_t{1} << bits;
  return header;
}

// Blue, green and red of a pixel.
const char* bmp_colour(std::string_view bytes, const BmpHeader& header, const char* row, int x,
                       const std::string& name) {
  if (header.bits >= 24) return row + static_cast<int64_t>(x) * header.bits / 8;
  const int per_byte = 8 / header.bits, shift = 8 - header.bits * (x % per_byte + 1);
  const int index = static_cast<uint8_t>(row[x / per_byte]) >> shift & ((1 << header.bits) - 1);
  if (index >= header.colours) fail_bmp(name, "it uses colours that it does not have");
  return bytes.data() + header.palette + 4 * static_cast<int64_t>(index);
}

}  // namespace

Shape bmp_shape(std::string_view bytes, const std::string& name) {
  const BmpHeader header = read_bmp_header(bytes, name);
  return {3, header.height, header.width};
}

void decode_bmp(std::string_view bytes, const std::string& name, Image& image) {
  const BmpHeader header = read_bmp_header(bytes, name);
  const auto size = static_cast<int64_t>(bytes.size());
  const bool palette_there = header.bits > 8 || header.palette + 4 * header.colours <= size;
  if (!palette_there || header.pixels + header.height * header.row_bytes() > size) fail_bmp(name, "it is truncated");
  image.reshape({3, header.height, header.width});
  for (int y = 0; y < header.height; ++y) {
    const int stored = header.bottom_up ? header.height - 1 - y : y;
    const char* row = bytes.data() + header.pixels + stored * header.row_bytes();
    for (int x = 0; x < header.width; ++x) {
      const char* colour = bmp_colour(bytes, header, row, x, name);
      for (int c = 0; c < 3; ++c) image.row(y)[3 * x + c] = static_cast<uint8_t>(colour[2 - c]);
    }
  }
}

}  // namespace nascent
