#include "nascent/data/image_file.h"

#include <algorithm>
#include <fstream>

#include "nascent/core/error.h"
#include "nascent/core/files.h"
#include "nascent/core/text.h"

namespace nascent {
namespace {

struct PictureFormat {
  const char* name;
  std::vector<std::string> extensions;
  bool (*starts)(std::string_view bytes);
  void (*decode)(std::string_view bytes, const std::string& name, Image& image);
  Shape (*shape)(std::string_view bytes, const std::string& name);
};

const std::vector<PictureFormat>& formats() {
  static const std::vector<PictureFormat> all = {
      {"JPEG",
       {".jpg", ".jpeg"},
       [](std::string_view b) { return b.starts_with("\xff\xd8\xff"); },
       decode_jpeg,
       jpeg_shape},
      {"PNG", {".png"}, [](std::string_view b) { return b.starts_with("\x89PNG\r\n\x1a\n"); }, decode_png, png_shape},
      {"BMP", {".bmp"}, [](std::string_view b) { return b.starts_with("BM"); }, decode_bmp, bmp_shape},
#ifdef NASCENT_HAS_WEBP
      {"WebP",
       {".webp"},
       [](std::string_view b) { return b.starts_with("RIFF") && b.substr(8).starts_with("WEBP"); },
       decode_webp,
       webp_shape},
#endif
#ifdef NASCENT_HAS_GIF
      {"GIF", {".gif"}, [](std::string_view b) { return b.starts_with("GIF8"); }, decode_gif, gif_shape},
#endif
#ifdef NASCENT_HAS_TIFF
      {"TIFF",
       {".tif", ".tiff"},
       [](std::string_view b) {
         return b.starts_with(std::string_view("II*\0", 4)) || b.starts_with(std::string_view("MM\0*", 4));
       },
       decode_tiff,
       tiff_shape},
#endif
  };
  return all;
}

std::string first_bytes(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes.substr(0, 4)) text += fmt::format("{:02x} ", static_cast<uint8_t>(byte));
  return text.empty() ? "is empty" : "starts with " + text.substr(0, text.size() - 1);
}

const PictureFormat* format_of(std::string_view bytes) {
  for (const auto& format : formats()) {
    if (bytes.size() >= 12 && format.starts(bytes)) return &format;
  }
  return nullptr;
}

const PictureFormat& known_format(std::string_view bytes, const std::string& name) {
  if (const auto* format = format_of(bytes)) return *format;
  fail("{} is not a {} file: it {}. Fetch it again or remove it.", name, picture_formats(), first_bytes(bytes));
}

std::string first_of(const std::filesystem::path& path, size_t count) {
  std::ifstream in(path, std::ios::binary);
  std::string bytes(count, '\0');
  in.read(bytes.data(), static_cast<std::streamsize>(count));
  bytes.resize(in.gcount());
  return bytes;
}

}  // namespace

void check_image_size(int64_t height, int64_t width, const std::string& name) {
  if (height < 1 || width < 1 || height * width > int64_t{1} << 28) {
    fail("{} claims to be {} pixels high and {} wide; expected 1 to 2^28 pixels in all.", name, height, width);
  }
}

std::string picture_formats() {
  std::string text;
  for (size_t i = 0; i < formats().size(); ++i) {
    text += i == 0 ? "" : i + 1 == formats().size() ? " or " : ", ";
    text += formats()[i].name;
  }
  return text;
}

bool starts_as_picture(std::string_view bytes) { return format_of(bytes) != nullptr; }

bool has_picture_name(const std::filesystem::path& path) {
  std::string extension = path.extension().string();
  std::transform(extension.begin(), extension.end(), extension.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  return std::any_of(formats().begin(), formats().end(), [&](const PictureFormat& format) {
    return std::find(format.extensions.begin(), format.extensions.end(), extension) != format.extensions.end();
  });
}

void read_image_file(const std::filesystem::path& path, Image& image) {
  decode_image(read_file(path), path.string(), image);
}

void decode_image(std::string_view bytes, const std::string& name, Image& image) {
  known_format(bytes, name).decode(bytes, name, image);
}

Shape read_image_shape(const std::filesystem::path& path) {
  constexpr size_t kUsualHeader = 1 << 16;
  const std::string name = path.string(), start = first_of(path, kUsualHeader);
  if (start.size() == kUsualHeader) {
    try {
      return known_format(start, name).shape(start, name);
    } catch (const Error&) {  // the header goes on, or is elsewhere: the whole file tells
    }
  }
  const std::string bytes = read_file(path);
  return known_format(bytes, name).shape(bytes, name);
}

}  // namespace nascent
