#include "nascent/run/thumbnail.h"

#include <algorithm>

#include "nascent/data/image_file.h"
#include "nascent/data/resample.h"
#include "nascent/run/html.h"

namespace nascent {

std::string thumbnail(Image image) {
  const double scale = static_cast<double>(kThumbnailSide) / std::max(image.height, image.width);
  if (scale < 1) {
    Image small;
    resample(image, {0, 0, image.height, image.width}, std::max(1, static_cast<int>(image.height * scale)),
             std::max(1, static_cast<int>(image.width * scale)), small);
    image = std::move(small);
  }
  return html::data_uri("image/png", encode_png(image));
}

}  // namespace nascent
