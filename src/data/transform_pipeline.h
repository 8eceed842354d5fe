// A list of transforms applied one after another, from the bytes of an image to the floats of a batch.
//
//   TransformPipeline transforms({"pad-crop 4", "flip", "cutout 16"}, channel_statistics(*train), train->shape());
//   RandomStream random(seed, "augmentation", {epoch, index});
//   transforms.apply(image, scratch, random, out);
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "nascent/data/transform.h"

namespace nascent {

class TransformPipeline {
 public:
  // "normalise" is put in where the list lacks it: before the first transform of floats, or at the end.
  TransformPipeline(const std::vector<std::string>& specs, const ChannelStatistics& statistics, const Shape& input);

  // Whether such a list takes the mean and deviation from the data.
  static bool needs_statistics(const std::vector<std::string>& specs);

  const Shape& input() const { return input_; }
  const Shape& output() const { return output_; }
  // The list as applied, "normalise" included.
  const std::vector<std::string>& specs() const { return specs_; }

  // Writes output().count() floats. `image` is used up; it and `scratch` lend their memory from call to call.
  void apply(Image& image, Image& scratch, RandomStream& random, float* out) const;

 private:
  void add(const TransformSpec& spec, const ChannelStatistics& statistics);

  std::vector<std::string> specs_;
  Shape input_, output_;
  std::vector<std::shared_ptr<const ByteTransform>> bytes_;
  std::shared_ptr<const Conversion> conversion_;
  std::vector<std::shared_ptr<const FloatTransform>> floats_;
};

}  // namespace nascent
