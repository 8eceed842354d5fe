// The transform "cutout".
#include <algorithm>

#include "nascent/data/transform.h"

namespace nascent {
namespace {

class Cutout : public FloatTransform {
 public:
  explicit Cutout(const TransformSpec& spec) {
    spec.require(spec.numbers.size() == 1 && spec.whole(0, 1, 16384),
                 "'cutout SIDE' with 1 to 16384 pixels, such as 'cutout 16'");
    side_ = static_cast<int>(spec.numbers[0]);
  }

  // The centre may lie anywhere in the image, so a square near the edge is cut off.
  void apply(float* pixels, const Shape& shape, RandomStream& random) const override {
    const int y = static_cast<int>(random.below(shape.height)), x = static_cast<int>(random.below(shape.width));
    const int top = std::max(0, y - side_ / 2), bottom = std::min(shape.height, y - side_ / 2 + side_);
    const int left = std::max(0, x - side_ / 2), right = std::min(shape.width, x - side_ / 2 + side_);
    for (int row = top; row < bottom; ++row) {
      float* line = pixels + int64_t{row} * shape.width * shape.channels;
      std::fill(line + int64_t{left} * shape.channels, line + int64_t{right} * shape.channels, 0.0f);
    }
  }

 private:
  int side_;
};

}  // namespace

NASCENT_REGISTER(Transform, "cutout", "SIDE: a square somewhere is set to 0, the mean of the normalised images",
                 [](const TransformSpec& spec, const ChannelStatistics&) { return std::make_unique<Cutout>(spec); });

}  // namespace nascent
