// The shape of an image, or of what a network makes of one.
#pragma once

#include <cstdint>
#include <string>

namespace nascent {

struct Shape {
  int channels = 0, height = 0, width = 0;

  bool operator==(const Shape&) const = default;
  int64_t count() const { return int64_t{channels} * height * width; }
  // Height or width 0 stands for "varies from image to image".
  bool fixed() const { return height > 0 && width > 0; }
  // "3x32x32", "3x?x?".
  std::string text() const;
};

}  // namespace nascent
