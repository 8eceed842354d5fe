// The transforms "pad-crop" and "center-crop".
#include <algorithm>
#include <cstring>

#include "nascent/data/transform.h"

namespace nascent {
namespace {

// `out` takes the window of `image` whose upper left corner is (top, left); what lies outside is black.
void copy_window(const Image& image, int top, int left, int height, int width, Image& out) {
  out.reshape({image.channels, height, width});
  const int first = std::clamp(-left, 0, width), last = std::clamp(image.width - left, first, width);
  for (int y = 0; y < height; ++y) {
    const int from = y + top;
    uint8_t* row = out.row(y);
    if (from < 0 || from >= image.height) {
      std::memset(row, 0, int64_t{width} * image.channels);
      continue;
    }
    std::memset(row, 0, int64_t{first} * image.channels);
    std::memcpy(row + int64_t{first} * image.channels, image.row(from) + int64_t{left + first} * image.channels,
                int64_t{last - first} * image.channels);
    std::memset(row + int64_t{last} * image.channels, 0, int64_t{width - last} * image.channels);
  }
}

class PadCrop : public ByteTransform {
 public:
  explicit PadCrop(const TransformSpec& spec) {
    spec.require(spec.numbers.size() == 1 && spec.whole(0, 1, 1024),
                 "'pad-crop PIXELS' with 1 to 1024 pixels, such as 'pad-crop 4'");
    padding_ = static_cast<int>(spec.numbers[0]);
  }

  void apply(Image& image, Image& scratch, RandomStream& random) const override {
    const int top = static_cast<int>(random.below(2 * padding_ + 1)) - padding_;
    const int left = static_cast<int>(random.below(2 * padding_ + 1)) - padding_;
    copy_window(image, top, left, image.height, image.width, scratch);
    std::swap(image, scratch);
  }

 private:
  int padding_;
};

class CenterCrop : public ByteTransform {
 public:
  explicit CenterCrop(const TransformSpec& spec) {
    spec.require(spec.numbers.size() == 1 && spec.whole(0, 1, 16384),
                 "'center-crop SIDE' with 1 to 16384 pixels, such as 'center-crop 224'");
    side_ = static_cast<int>(spec.numbers[0]);
  }

  Shape output(const Shape& input) const override { return {input.channels, side_, side_}; }

  void apply(Image& image, Image& scratch, RandomStream&) const override {
    copy_window(image, (image.height - side_) / 2, (image.width - side_) / 2, side_, side_, scratch);
    std::swap(image, scratch);
  }

 private:
  int side_;
};

}  // namespace

NASCENT_REGISTER(Transform, "pad-crop", "PIXELS: shift at random by up to so many pixels, black comes in at the edge",
                 [](const TransformSpec& spec, const ChannelStatistics&) { return std::make_unique<PadCrop>(spec); });
NASCENT_REGISTER(Transform, "center-crop", "SIDE: the middle square; black is added around smaller images",
                 [](const TransformSpec& spec, const ChannelStatistics&) {
                   return std::make_unique<CenterCrop>(spec);
                 });

}  // namespace nascent
