// The transform "to-rgb".
#include <algorithm>

#include "nascent/data/transform.h"

namespace nascent {
namespace {

class ToRgb : public ByteTransform {
 public:
  explicit ToRgb(const TransformSpec& spec) { spec.require(spec.numbers.empty(), "'to-rgb' alone"); }

  Shape output(const Shape& input) const override {
    if (input.channels != 1 && input.channels != 3) {
      fail("The transform 'to-rgb' works on grey or RGB images; these have {} channels.", input.channels);
    }
    return {3, input.height, input.width};
  }

  void apply(Image& image, Image& scratch, RandomStream&) const override {
    if (image.channels == 3) return;
    scratch.reshape({3, image.height, image.width});
    for (size_t i = 0; i < image.pixels.size(); ++i) std::fill_n(scratch.pixels.data() + 3 * i, 3, image.pixels[i]);
    std::swap(image, scratch);
  }
};

}  // namespace

NASCENT_REGISTER(Transform, "to-rgb", "repeat a grey channel three times",
                 [](const TransformSpec& spec, const ChannelStatistics&) { return std::make_unique<ToRgb>(spec); });

}  // namespace nascent
