// The transforms "resize" and "random-resized-crop".
#include <algorithm>
#include <cmath>

#include "nascent/data/resample.h"
#include "nascent/data/transform.h"

namespace nascent {
namespace {

class Resize : public ByteTransform {
 public:
  explicit Resize(const TransformSpec& spec) : exact_(spec.numbers.size() == 2) {
    const bool good = exact_ ? spec.whole(0, 1, 16384) && spec.whole(1, 1, 16384)
                             : spec.numbers.size() == 1 && spec.whole(0, 1, 16384);
    spec.require(good, "'resize SHORTER-SIDE' or 'resize HEIGHT WIDTH' with 1 to 16384 pixels, such as 'resize 256'");
    height_ = static_cast<int>(spec.numbers[0]);
    width_ = static_cast<int>(spec.number(1, height_));
  }

  Shape output(const Shape& input) const override {
    if (exact_) return {input.channels, height_, width_};
    if (!input.fixed()) return input;
    const double scale = static_cast<double>(height_) / std::min(input.height, input.width);
    const auto side = [&](int n) { return std::max(height_, static_cast<int>(std::lround(n * scale))); };
    return {input.channels, side(input.height), side(input.width)};
  }

  void apply(Image& image, Image& scratch, RandomStream&) const override {
    const Shape shape = output(image.shape());
    if (shape == image.shape()) return;
    resample(image, {0, 0, image.height, image.width}, shape.height, shape.width, scratch);
    std::swap(image, scratch);
  }

 private:
  bool exact_;
  int height_, width_;
};

// A window of random area and shape, as Inception's training draws it.
class RandomResizedCrop : public ByteTransform {
 public:
  explicit RandomResizedCrop(const TransformSpec& spec) : low_(spec.number(1, 0.08)), high_(spec.number(2, 1)) {
    const bool good = (spec.numbers.size() == 1 || spec.numbers.size() == 3) && spec.whole(0, 1, 16384) && low_ > 0 &&
                      low_ <= high_ && high_ <= 1;
    spec.require(good,
                 "'random-resized-crop SIDE' or 'random-resized-crop SIDE LEAST-AREA MOST-AREA' with areas in (0, 1], "
                 "such as 'random-resized-crop 224 0.08 1'");
    side_ = static_cast<int>(spec.numbers[0]);
  }

  Shape output(const Shape& input) const override { return {input.channels, side_, side_}; }

  void apply(Image& image, Image& scratch, RandomStream& random) const override {
    resample(image, draw(image, random), side_, side_, scratch);
    std::swap(image, scratch);
  }

 private:
  static constexpr double least_ratio = 3.0 / 4, most_ratio = 4.0 / 3;

  Window draw(const Image& image, RandomStream& random) const {
    const double area = static_cast<double>(image.height) * image.width;
    for (int attempt = 0; attempt < 10; ++attempt) {
      const double target = area * random.uniform(low_, high_);
      const double ratio = std::exp(random.uniform(std::log(least_ratio), std::log(most_ratio)));
      const int width = static_cast<int>(std::lround(std::sqrt(target * ratio)));
      const int height = static_cast<int>(std::lround(std::sqrt(target / ratio)));
      if (width < 1 || height < 1 || width > image.width || height > image.height) continue;
      const int top = static_cast<int>(random.below(image.height - height + 1));
      return {top, static_cast<int>(random.below(image.width - width + 1)), height, width};
    }
    return middle(image);
  }

  // The largest window in the middle that keeps to the allowed ratios, for images so long that no drawn window fits.
  static Window middle(const Image& image) {
    const double ratio = static_cast<double>(image.width) / image.height;
    Window window{0, 0, image.height, image.width};
    if (ratio < least_ratio) window.height = std::max(1, static_cast<int>(std::lround(image.width / least_ratio)));
    if (ratio > most_ratio) window.width = std::max(1, static_cast<int>(std::lround(image.height * most_ratio)));
    window.top = (image.height - window.height) / 2;
    window.left = (image.width - window.width) / 2;
    return window;
  }

  int side_;
  double low_, high_;
};

}  // namespace

NASCENT_REGISTER(Transform, "resize", "SHORTER-SIDE or HEIGHT WIDTH: bilinear, with antialiasing when shrinking",
                 [](const TransformSpec& spec, const ChannelStatistics&) { return std::make_unique<Resize>(spec); });
NASCENT_REGISTER(Transform, "random-resized-crop", "SIDE [LEAST-AREA MOST-AREA]: a random window, resized to a square",
                 [](const TransformSpec& spec, const ChannelStatistics&) {
                   return std::make_unique<RandomResizedCrop>(spec);
                 });

}  // namespace nascent
