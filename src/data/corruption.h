// Corruptions of Hendrycks & Dietterich (2019), "corrupt NAME SEVERITY": what a network may meet besides clean images.
// Severities 1 to 5 have the constants that they use for CIFAR's 32 x 32 images; where one is in pixels, it stays.
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "nascent/data/transform.h"

namespace nascent {

// An image as numbers, 0 to 1, channels innermost.
struct FloatImage {
  int channels = 0, height = 0, width = 0;
  std::vector<float> values{};

  float& at(int y, int x, int c) { return values[(static_cast<size_t>(y) * width + x) * channels + c]; }
  float at(int y, int x, int c) const { return values[(static_cast<size_t>(y) * width + x) * channels + c]; }
  // The nearest pixel inside.
  float near(int y, int x, int c) const { return at(std::clamp(y, 0, height - 1), std::clamp(x, 0, width - 1), c); }
  // Between pixels, bilinear; outside, as at the edge.
  float between(double y, double x, int c) const;
  FloatImage like() const { return {channels, height, width, std::vector<float>(values.size())}; }
};

FloatImage to_floats(const Image& image);
void to_bytes(const FloatImage& floats, Image& image);

// Changes an image; `severity` counts from 0.
using Corrupt = void (*)(FloatImage& image, int severity, RandomStream& random);

// The transform that does so, from "corrupt NAME SEVERITY".
std::unique_ptr<Transform> make_corruption(const TransformSpec& spec, Corrupt corrupt);

#define NASCENT_CORRUPTION(name, description, function)            \
  NASCENT_REGISTER(                                                \
      Transform, "corrupt " name, "SEVERITY 1 to 5: " description, \
      [](const TransformSpec& spec, const ChannelStatistics&) { return make_corruption(spec, function); })

}  // namespace nascent
