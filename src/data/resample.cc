#include "nascent/data/resample.h"

#include <algorithm>
#include <cmath>

namespace nascent {
namespace {

// How each output position along one axis is mixed from input positions first, first + 1, ...
struct Mixture {
  int taps;  // weights per output position; unused ones are 0
  std::vector<int> first;
  std::vector<float> weights;
};

Mixture triangle_filter(int start, int input, int output) {
  const double scale = static_cast<double>(input) / output, support = std::max(scale, 1.0);
  Mixture mixture;
  mixture.taps = std::min(static_cast<int>(std::ceil(support)) * 2 + 1, input);
  mixture.first.resize(output);
  mixture.weights.resize(static_cast<size_t>(output) * mixture.taps);
  for (int i = 0; i < output; ++i) {
    const double centre = (i + 0.5) * scale;
    const int low = std::clamp(static_cast<int>(std::floor(centre - support)), 0, input - mixture.taps);
    float* weights = mixture.weights.data() + static_cast<size_t>(i) * mixture.taps;
    double sum = 0;
    for (int k = 0; k < mixture.taps; ++k) {
      weights[k] = static_cast<float>(std::max(0.0, 1 - std::abs(low + k + 0.5 - centre) / support));
      sum += weights[k];
    }
    for (int k = 0; k < mixture.taps; ++k) weights[k] = static_cast<float>(weights[k] / sum);
    mixture.first[i] = start + low;
  }
  return mixture;
}

void mix_row(const uint8_t* row, int channels, const Mixture& columns, float* out) {
  const float* weights = columns.weights.data();
  for (const int first : columns.first) {
    const uint8_t* in = row + int64_t{first} * channels;
    for (int c = 0; c < channels; ++c) {
      float sum = 0;
      for (int k = 0; k < columns.taps; ++k) sum += weights[k] * in[k * channels + c];
      *out++ = sum;
    }
    weights += columns.taps;
  }
}

}  // namespace

void resample(const Image& image, const Window& window, int height, int width, Image& out) {
  const Mixture columns = triangle_filter(window.left, window.width, width);
  const Mixture rows = triangle_filter(window.top, window.height, height);
  const size_t row_values = static_cast<size_t>(width) * image.channels;
  std::vector<float> mixed(row_values * window.height), sum(row_values);
  for (int y = 0; y < window.height; ++y) {
    mix_row(image.row(window.top + y), image.channels, columns, mixed.data() + y * row_values);
  }
  out.reshape({image.channels, height, width});
  for (int y = 0; y < height; ++y) {
    std::fill(sum.begin(), sum.end(), 0.0f);
    for (int k = 0; k < rows.taps; ++k) {
      const float weight = rows.weights[static_cast<size_t>(y) * rows.taps + k];
      const float* in = mixed.data() + (rows.first[y] - window.top + k) * row_values;
      for (size_t i = 0; i < row_values; ++i) sum[i] += weight * in[i];
    }
    uint8_t* row = out.row(y);
    for (size_t i = 0; i < row_values; ++i) row[i] = static_cast<uint8_t>(std::clamp(sum[i] + 0.5f, 0.0f, 255.0f));
  }
}

}  // namespace nascent
