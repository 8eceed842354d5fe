// What an attacker may do: how far an image may be moved, measured how, and which pixels there are.
#pragma once

#include <ATen/core/Tensor.h>

#include <limits>
#include <string>

namespace nascent {

enum class Norm { linf, l2 };

Norm norm_named(const std::string& name);  // "linf" or "l2"
std::string norm_name(Norm norm);

struct Threat {
  Norm norm = Norm::linf;
  double eps = std::numeric_limits<double>::infinity();  // infinite: as far as it takes
  at::Tensor top{};  // [1, C, 1, 1]: the largest value of a pixel, the smallest being 0; undefined: 1

  // Images with their pixels cut off at 0 and at the top.
  at::Tensor inside(const at::Tensor& images) const;
  // The nearest images inside the ball around `clean` and with possible pixels.
  at::Tensor project(const at::Tensor& moved, const at::Tensor& clean) const;
  // Where a step of length 1 raises a loss most: the gradient's sign, or the gradient over its length.
  at::Tensor direction(const at::Tensor& gradient) const;
  at::Tensor distance(const at::Tensor& moved, const at::Tensor& clean) const;  // [images]
};

// [images], over all pixels of each.
at::Tensor lengths(const at::Tensor& images, Norm norm);
// The norm that measures gradients where this one measures steps: the sum of magnitudes for L-infinity.
at::Tensor dual_lengths(const at::Tensor& images, Norm norm);
// One number per image, to be broadcast over its pixels.
at::Tensor over_pixels(const at::Tensor& values);

}  // namespace nascent
