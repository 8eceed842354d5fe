// Random tensors in double precision, and how far two are apart.
#pragma once

#include <ATen/ATen.h>

#include <string>

#include "nascent/core/random.h"

namespace nascent {

inline at::Tensor random_tensor(at::IntArrayRef shape, const std::string& purpose) {
  at::Tensor values = at::empty(shape, at::kDouble);
  RandomStream random(11, purpose);
  for (int64_t i = 0; i < values.numel(); ++i) values.data_ptr<double>()[i] = random.normal();
  return values;
}

inline double distance(const at::Tensor& a, const at::Tensor& b) {
  return (a - b).norm().item<double>() / (b.norm().item<double>() + 1e-12);
}

}  // namespace nascent
