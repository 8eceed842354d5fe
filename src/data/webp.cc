// WebP by way of libwebp.
#ifdef NASCENT_HAS_WEBP
#include <webp/decode.h>

#include "nascent/core/error.h"
#include "nascent/data/image_file.h"

namespace nascent {
namespace {

const uint8_t* webp_bytes(std::string_view bytes) { return reinterpret_cast<const uint8_t*>(bytes.data()); }

[[noreturn]] void fail_webp(const std::string& name, const std::string& what) {
  fail("{} is {} WebP file. Save it as PNG, fetch it again or remove it.", name, what);
}

}  // namespace

Shape webp_shape(std::string_view bytes, const std::string& name) {
  WebPBitstreamFeatures features;
  if (WebPGetFeatures(webp_bytes(bytes), bytes.size(), &features) != VP8_STATUS_OK) {
    fail_webp(name, "a truncated or corrupt");
  }
  if (features.has_animation != 0) fail_webp(name, "an animated");
  check_image_size(features.height, features.width, name);
  return {3, features.height, features.width};
}

void decode_webp(std::string_view bytes, const std::string& name, Image& image) {
  const Shape shape = webp_shape(bytes, name);
  image.reshape(shape);
  if (WebPDecodeRGBInto(webp_bytes(bytes), bytes.size(), image.pixels.data(), image.pixels.size(), 3 * shape.width) ==
      nullptr) {
    fail_webp(name, "a truncated or corrupt");
  }
}

}  // namespace nascent
#endif
