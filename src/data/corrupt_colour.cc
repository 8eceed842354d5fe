// Weather and light: "corrupt fog", "brightness", "contrast", "saturate".
#include <cmath>

#include "nascent/data/corruption.h"

namespace nascent {
namespace {

// A plasma fractal by midpoint displacement on a torus, scaled to 0..1.
std::vector<double> plasma(int size, double decay, RandomStream& random) {
  std::vector<double> map(static_cast<size_t>(size) * size, 0.0);
  const auto at = [&](int y, int x) -> double& {
    return map[static_cast<size_t>((y % size + size) % size) * size + (x % size + size) % size];
  };
  double wibble = 100;
  for (int step = size; step >= 2; step /= 2, wibble /= decay) {
    const int half = step / 2;
    const auto shifted = [&](double mean) { return mean + wibble * random.uniform(-1, 1); };
    for (int y = 0; y < size; y += step) {
      for (int x = 0; x < size; x += step)
        at(y + half, x + half) = shifted((at(y, x) + at(y + step, x) + at(y, x + step) + at(y + step, x + step)) / 4);
    }
    for (int y = 0; y < size; y += step) {
      for (int x = 0; x < size; x += step) {
        at(y, x + half) = shifted((at(y, x) + at(y, x + step) + at(y + half, x + half) + at(y - half, x + half)) / 4);
        at(y + half, x) = shifted((at(y, x) + at(y + step, x) + at(y + half, x + half) + at(y + half, x - half)) / 4);
      }
    }
  }
  const auto [low, high] = std::minmax_element(map.begin(), map.end());
  const double least = *low, range = std::max(*high - *low, 1e-12);
  for (double& value : map) value = (value - least) / range;
  return map;
}

void fog(FloatImage& image, int severity, RandomStream& random) {
  constexpr std::array<std::array<double, 2>, 5> fogs = {
      {{0.2, 3}, {0.5, 3}, {0.75, 2.5}, {1, 2}, {1.5, 1.75}}};  // thickness, decay
  const auto [thickness, decay] = fogs[severity];
  int size = 1;
  while (size < std::max(image.height, image.width)) size *= 2;
  const auto map = plasma(size, decay, random);
  const float top = *std::max_element(image.values.begin(), image.values.end());
  for (int y = 0; y < image.height; ++y) {
    for (int x = 0; x < image.width; ++x) {
      const double more = thickness * map[static_cast<size_t>(y) * size + x];
      for (int c = 0; c < image.channels; ++c)
        image.at(y, x, c) = static_cast<float>((image.at(y, x, c) + more) * top / (top + thickness));
    }
  }
}

void contrast(FloatImage& image, int severity, RandomStream&) {
  constexpr std::array<float, 5> factor = {0.75f, 0.5f, 0.4f, 0.3f, 0.15f};
  const size_t pixels = image.values.size() / static_cast<size_t>(image.channels);
  for (int c = 0; c < image.channels; ++c) {
    double mean = 0;
    for (size_t i = 0; i < pixels; ++i) mean += image.values[i * image.channels + c] / static_cast<double>(pixels);
    for (size_t i = 0; i < pixels; ++i) {
      float& value = image.values[i * image.channels + c];
      value = static_cast<float>(mean) + factor[severity] * (value - static_cast<float>(mean));
    }
  }
}

// HSV's value is the largest channel, its saturation the range over it; hue and the other of the two stay.
void set_saturation_and_value(float* rgb, float saturation, float value) {
  const float high = std::max({rgb[0], rgb[1], rgb[2]}), low = std::min({rgb[0], rgb[1], rgb[2]});
  const float range = high - low;
  for (int c = 0; c < 3; ++c) {
    const float depth = range > 0 ? (high - rgb[c]) / range : 0;  // 0 at the largest channel, 1 at the smallest
    rgb[c] = value * (1 - saturation * depth);
  }
}

void brightness(FloatImage& image, int severity, RandomStream&) {
  constexpr std::array<float, 5> more = {0.05f, 0.1f, 0.15f, 0.2f, 0.3f};
  if (image.channels != 3) {
    for (float& x : image.values) x += more[severity];
    return;
  }
  for (size_t i = 0; i < image.values.size(); i += 3) {
    float* rgb = &image.values[i];
    const float high = std::max({rgb[0], rgb[1], rgb[2]}), low = std::min({rgb[0], rgb[1], rgb[2]});
    set_saturation_and_value(rgb, high > 0 ? (high - low) / high : 0, std::min(high + more[severity], 1.0f));
  }
}

// Grey images have no saturation to change.
void saturate(FloatImage& image, int severity, RandomStream&) {
  constexpr std::array<std::array<float, 2>, 5> changes = {
      {{0.3f, 0}, {0.1f, 0}, {1.5f, 0}, {2, 0.1f}, {2.5f, 0.2f}}};  // factor, more
  const auto [factor, more] = changes[severity];
  for (size_t i = 0; image.channels == 3 && i < image.values.size(); i += 3) {
    float* rgb = &image.values[i];
    const float high = std::max({rgb[0], rgb[1], rgb[2]}), low = std::min({rgb[0], rgb[1], rgb[2]});
    const float saturation = high > 0 ? (high - low) / high : 0;
    set_saturation_and_value(rgb, std::clamp(saturation * factor + more, 0.0f, 1.0f), high);
  }
}

NASCENT_CORRUPTION("fog", "fog of uneven thickness", fog);
NASCENT_CORRUPTION("brightness", "too much light", brightness);
NASCENT_CORRUPTION("contrast", "too little contrast", contrast);
NASCENT_CORRUPTION("saturate", "too little colour, or too much", saturate);

}  // namespace
}  // namespace nascent
