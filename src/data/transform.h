// Transforms of one image, each named and given as text: "pad-crop 4", "flip", "normalise", "cutout 16".
// Those that work on bytes come before "normalise", those that work on floats after it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "nascent/core/random.h"
#include "nascent/core/registry.h"
#include "nascent/data/image.h"
#include "nascent/data/statistics.h"

namespace nascent {

// A transform as the user wrote it, taken apart.
struct TransformSpec {
  std::string text, name;
  std::vector<double> numbers;

  static TransformSpec parse(const std::string& text);

  // Throws an Error that quotes the text unless `good`. `expected` says what would be.
  void require(bool good, const std::string& expected) const;
  // Number `index`, or `usual` if there are fewer.
  double number(size_t index, double usual) const { return index < numbers.size() ? numbers[index] : usual; }
  bool whole(size_t index, double low, double high) const;  // number `index` is a whole number in the range
};

class Transform {
 public:
  static std::string kind() { return "transform"; }
  // The statistics are those of the training images, for "normalise".
  using Registry =
      nascent::Registry<Transform, std::unique_ptr<Transform>(const TransformSpec&, const ChannelStatistics&)>;

  virtual ~Transform() = default;
  // Shape of the result; an Error if the transform cannot work on such images.
  virtual Shape output(const Shape& input) const { return input; }
};

class ByteTransform : public Transform {
 public:
  // Changes `image`; `scratch` lends memory and holds nothing of meaning before or after.
  virtual void apply(Image& image, Image& scratch, RandomStream& random) const = 0;
};

// From bytes to floats: there is one in every pipeline.
class Conversion : public Transform {
 public:
  virtual void apply(const Image& image, float* out) const = 0;
};

class FloatTransform : public Transform {
 public:
  virtual void apply(float* pixels, const Shape& shape, RandomStream& random) const = 0;
};

}  // namespace nascent
