// The transform "colour-jitter".
#include <algorithm>
#include <array>
#include <cmath>

#include "nascent/data/transform.h"

namespace nascent {
namespace {

uint8_t to_byte(float value) { return static_cast<uint8_t>(std::clamp(value + 0.5f, 0.0f, 255.0f)); }

// Brightness of a pixel as the eye sees it (ITU-R 601).
float luma(const uint8_t* rgb) { return 0.299f * rgb[0] + 0.587f * rgb[1] + 0.114f * rgb[2]; }

float mean_luma(const Image& image) {
  double sum = 0;
  const int64_t pixels = int64_t{image.height} * image.width;
  for (int64_t i = 0; i < pixels; ++i) {
    sum += image.channels == 3 ? luma(image.pixels.data() + 3 * i) : image.pixels[i];
  }
  return static_cast<float>(sum / static_cast<double>(pixels));
}

// Moves every value away from (factor > 1) or towards (factor < 1) `anchor`: 0 for brightness, the mean for contrast.
void stretch(Image& image, float anchor, float factor) {
  std::array<uint8_t, 256> table;
  for (int i = 0; i < 256; ++i) table[i] = to_byte(anchor + factor * (static_cast<float>(i) - anchor));
  for (auto& value : image.pixels) value = table[value];
}

void saturate(Image& image, float factor) {
  for (size_t i = 0; i < image.pixels.size(); i += 3) {
    uint8_t* rgb = image.pixels.data() + i;
    const float grey = luma(rgb);
    for (int c = 0; c < 3; ++c) rgb[c] = to_byte(grey + factor * (rgb[c] - grey));
  }
}

// Turns the hue by `turn` of the colour circle; the largest and the smallest of a pixel's channels stay.
void turn_hue(Image& image, float turn) {
  for (size_t i = 0; i < image.pixels.size(); i += 3) {
    uint8_t* rgb = image.pixels.data() + i;
    const float r = rgb[0], g = rgb[1], b = rgb[2];
    const float high = std::max({r, g, b}), low = std::min({r, g, b}), range = high - low;
    if (range == 0) continue;
    float sector = high == r ? (g - b) / range : high == g ? 2 + (b - r) / range : 4 + (r - g) / range;
    sector += 6 * turn;
    const auto channel = [&](float offset) {
      float position = std::fmod(offset + sector, 6.0f);
      if (position < 0) position += 6;
      return to_byte(high - range * std::clamp(std::min(position, 4 - position), 0.0f, 1.0f));
    };
    rgb[0] = channel(5);
    rgb[1] = channel(3);
    rgb[2] = channel(1);
  }
}

class ColourJitter : public ByteTransform {
 public:
  explicit ColourJitter(const TransformSpec& spec) {
    bool good = !spec.numbers.empty() && spec.numbers.size() <= 4 && spec.number(3, 0) <= 0.5;
    for (const double number : spec.numbers) good = good && number >= 0 && number <= 10;
    spec.require(good,
                 "'colour-jitter BRIGHTNESS [CONTRAST [SATURATION [HUE]]]', each at least 0, hue at most 0.5, such as "
                 "'colour-jitter 0.4 0.4 0.4 0.2'");
    for (size_t i = 0; i < strength_.size(); ++i) strength_[i] = spec.number(i, 0);
  }

  Shape output(const Shape& input) const override {
    if (input.channels != 1 && input.channels != 3) {
      fail("The transform 'colour-jitter' works on grey or RGB images; these have {} channels.", input.channels);
    }
    return input;
  }

  void apply(Image& image, Image&, RandomStream& random) const override {
    for (const int64_t which : random.permutation(4)) {
      const double strength = strength_[which];
      const bool colour_only = which >= 2;
      if (strength == 0 || (colour_only && image.channels == 1)) continue;
      const double low = which == 3 ? -strength : std::max(0.0, 1 - strength);
      const auto factor = static_cast<float>(random.uniform(low, which == 3 ? strength : 1 + strength));
      if (which == 0) stretch(image, 0, factor);
      if (which == 1) stretch(image, mean_luma(image), factor);
      if (which == 2) saturate(image, factor);
      if (which == 3) turn_hue(image, factor);
    }
  }

 private:
  std::array<double, 4> strength_;  // brightness, contrast, saturation, hue
};

}  // namespace

NASCENT_REGISTER(Transform, "colour-jitter",
                 "BRIGHTNESS [CONTRAST [SATURATION [HUE]]]: change each by up to so much, in random order",
                 [](const TransformSpec& spec, const ChannelStatistics&) {
                   return std::make_unique<ColourJitter>(spec);
                 });

}  // namespace nascent
