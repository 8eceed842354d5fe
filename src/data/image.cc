#include "nascent/data/image.h"

#include <fmt/format.h>

namespace nascent {

void Image::reshape(const Shape& shape) {
  channels = shape.channels;
  height = shape.height;
  width = shape.width;
  pixels.resize(shape.count());
}

}  // namespace nascent
