// The transform "flip".
#include <algorithm>

#include "nascent/data/transform.h"

namespace nascent {
namespace {

template <int channels>
void mirror(Image& image) {
  for (int y = 0; y < image.height; ++y) {
    uint8_t* left = image.row(y);
    uint8_t* right = left + int64_t{image.width - 1} * channels;
    for (; left < right; left += channels, right -= channels) std::swap_ranges(left, left + channels, right);
  }
}

class Flip : public ByteTransform {
 public:
  explicit Flip(const TransformSpec& spec) : probability_(spec.number(0, 0.5)) {
    spec.require(spec.numbers.size() <= 1 && probability_ >= 0 && probability_ <= 1,
                 "'flip' or 'flip PROBABILITY' with 0 to 1, such as 'flip 0.5'");
  }

  Shape output(const Shape& input) const override {
    if (input.channels > 4)
      fail("The transform 'flip' works on images of 1 to 4 channels; these have {}.", input.channels);
    return input;
  }

  void apply(Image& image, Image&, RandomStream& random) const override {
    if (random.uniform() >= probability_) return;
    switch (image.channels) {
      case 1:
        return mirror<1>(image);
      case 2:
        return mirror<2>(image);
      case 3:
        return mirror<3>(image);
      default:
        return mirror<4>(image);
    }
  }

 private:
  double probability_;
};

}  // namespace

NASCENT_REGISTER(Transform, "flip", "[PROBABILITY]: mirror left to right, every other time unless told",
                 [](const TransformSpec& spec, const ChannelStatistics&) { return std::make_unique<Flip>(spec); });

}  // namespace nascent
