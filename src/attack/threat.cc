#include "nascent/attack/threat.h"

#include <ATen/ATen.h>

#include <cmath>

#include "nascent/core/error.h"

namespace nascent {
namespace {

constexpr double kLeastLength = 1e-12;

at::Tensor euclidean(const at::Tensor& images) { return images.square().sum({1, 2, 3}).sqrt(); }

}  // namespace

Norm norm_named(const std::string& name) {
  if (name == "linf") return Norm::linf;
  if (name == "l2") return Norm::l2;
  fail("There is no norm '{}': it can be 'linf' or 'l2'.", name);
}

std::string norm_name(Norm norm) { return norm == Norm::linf ? "linf" : "l2"; }

at::Tensor over_pixels(const at::Tensor& values) { return values.view({-1, 1, 1, 1}); }

at::Tensor lengths(const at::Tensor& images, Norm norm) {
  return norm == Norm::linf ? images.abs().amax({1, 2, 3}) : euclidean(images);
}

at::Tensor dual_lengths(const at::Tensor& images, Norm norm) {
  return norm == Norm::linf ? images.abs().sum({1, 2, 3}) : euclidean(images);
}

at::Tensor Threat::inside(const at::Tensor& images) const {
  if (!top.defined()) return images.clamp(0, 1);
  return at::minimum(images.clamp_min(0), top);
}

at::Tensor Threat::project(const at::Tensor& moved, const at::Tensor& clean) const {
  if (!std::isfinite(eps)) return inside(moved);
  const at::Tensor step = moved - clean;
  if (norm == Norm::linf) return inside(clean + step.clamp(-eps, eps));
  const at::Tensor shrink = (eps / euclidean(step).clamp_min(kLeastLength)).clamp_max(1);
  return inside(clean + step * over_pixels(shrink));
}

at::Tensor Threat::direction(const at::Tensor& gradient) const {
  if (norm == Norm::linf) return gradient.sign();
  return gradient / over_pixels(euclidean(gradient).clamp_min(kLeastLength));
}

at::Tensor Threat::distance(const at::Tensor& moved, const at::Tensor& clean) const {
  return lengths(moved - clean, norm);
}

}  // namespace nascent
