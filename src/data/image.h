// One image in memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "nascent/core/shape.h"

namespace nascent {

// Pixels row by row, channels innermost (NHWC), 0..255.
struct Image {
  int channels = 0, height = 0, width = 0;
  std::vector<uint8_t> pixels;

  Shape shape() const { return {channels, height, width}; }
  // Takes the shape and room for its pixels, whose values are then unspecified; memory is reused.
  void reshape(const Shape& shape);
  uint8_t* row(int y) { return pixels.data() + int64_t{y} * width * channels; }
  const uint8_t* row(int y) const { return pixels.data() + int64_t{y} * width * channels; }
};

}  // namespace nascent
