// The sum of weighted tensors that flows into a node of a supernet, without storing any weighted copy.
//
//   WeightedSum sum;
//   sum.add(identity);
//   sum.add({conv, pool}, weights);  // weights: [2]
//   at::Tensor state = sum.result(sizes, like);
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

namespace nascent {

class WeightedSum {
 public:
  void add(at::Tensor value) { plain_.push_back(std::move(value)); }
  // One weight per value, or a row of them with one per image; no values: nothing is added, but the weights get a
  // gradient of zero.
  void add(const std::vector<at::Tensor>& values, const at::Tensor& weights);

  // Zeros of `sizes` where nothing was added. `like` gives type, device and memory format.
  at::Tensor result(at::IntArrayRef sizes, const at::Tensor& like) const;

 private:
  std::vector<at::Tensor> plain_, weighted_;
  std::vector<at::Tensor> weights_;     // one-dimensional pieces that belong to weighted_
  std::vector<at::Tensor> weightless_;  // weights of nothing
};

// sum_i weights[i] * values[i], for one or more values of equal sizes; twice differentiable. `weights` is [values], or
// [values, images] where images are weighted apart.
at::Tensor weighted_sum(const std::vector<at::Tensor>& values, const at::Tensor& weights);

}  // namespace nascent
