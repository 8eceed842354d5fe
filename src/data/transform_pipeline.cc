#include "nascent/data/transform_pipeline.h"

#include <algorithm>

namespace nascent {

TransformPipeline::TransformPipeline(const std::vector<std::string>& specs, const ChannelStatistics& statistics,
                                     const Shape& input)
    : input_(input), output_(input) {
  for (const auto& text : specs) add(TransformSpec::parse(text), statistics);
  if (!conversion_) add(TransformSpec::parse("normalise"), statistics);
}

bool TransformPipeline::needs_statistics(const std::vector<std::string>& specs) {
  return std::none_of(specs.begin(), specs.end(), [](const std::string& text) {
    const TransformSpec spec = TransformSpec::parse(text);
    return spec.name == "normalise" && !spec.numbers.empty();
  });
}

void TransformPipeline::add(const TransformSpec& spec, const ChannelStatistics& statistics) {
  const std::shared_ptr<const Transform> made = Transform::Registry::instance().make(spec.name, spec, statistics);
  const auto floats = std::dynamic_pointer_cast<const FloatTransform>(made);
  if (floats && !conversion_) add(TransformSpec::parse("normalise"), statistics);
  if (const auto bytes = std::dynamic_pointer_cast<const ByteTransform>(made)) {
    if (conversion_) {
      fail("The transform '{}' works on bytes and comes after '{}'; put it before 'normalise'.", spec.text,
           specs_.back());
    }
    bytes_.push_back(bytes);
  } else if (floats) {
    floats_.push_back(floats);
  } else {
    if (conversion_)
      fail("The transform '{}' comes after '{}'; the images are normalised already.", spec.text, specs_.back());
    conversion_ = std::dynamic_pointer_cast<const Conversion>(made);
  }
  output_ = made->output(output_);
  specs_.push_back(spec.text);
}

void TransformPipeline::apply(Image& image, Image& scratch, RandomStream& random, float* out) const {
  for (const auto& transform : bytes_) transform->apply(image, scratch, random);
  if (!(image.shape() == output_)) {
    fail("The transforms [{}] made an image of {}; expected {}.", join(specs_, ", "), image.shape().text(),
         output_.text());
  }
  conversion_->apply(image, out);
  for (const auto& transform : floats_) transform->apply(out, output_, random);
}

}  // namespace nascent
