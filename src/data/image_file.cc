#include "nascent/data/image_file.h"

#include "nascent/core/error.h"
#include "nascent/core/files.h"

namespace nascent {
namespace {

constexpr std::string_view jpeg_start = "\xff\xd8\xff", png_start = "\x89PNG\r\n\x1a\n";

std::string first_bytes(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes.substr(0, 4)) text += fmt::format("{:02x} ", static_cast<uint8_t>(byte));
  return text.empty() ? "is empty" : "starts with " + text.substr(0, text.size() - 1);
}

bool is_jpeg(std::string_view bytes, const std::string& name) {
  if (bytes.starts_with(jpeg_start)) return true;
  if (bytes.starts_with(png_start)) return false;
  fail("{} is neither a JPEG nor a PNG file: it {}. Fetch it again or remove it.", name, first_bytes(bytes));
}

}  // namespace

void check_image_size(int64_t height, int64_t width, const std::string& name) {
  if (height < 1 || width < 1 || height * width > int64_t{1} << 28) {
    fail("{} claims to be {} pixels high and {} wide; expected 1 to 2^28 pixels in all.", name, height, width);
  }
}

void read_image_file(const std::filesystem::path& path, Image& image) {
  decode_image(read_file(path), path.string(), image);
}

void decode_image(std::string_view bytes, const std::string& name, Image& image) {
  is_jpeg(bytes, name) ? decode_jpeg(bytes, name, image) : decode_png(bytes, name, image);
}

Shape read_image_shape(const std::filesystem::path& path) {
  const std::string bytes = read_file(path), name = path.string();
  return is_jpeg(bytes, name) ? jpeg_shape(bytes, name) : png_shape(bytes, name);
}

}  // namespace nascent
