// Eight bits instead of 32: weights symmetric with a scale per output channel, activations with a scale and a zero
// point per tensor, calibrated on images.
#pragma once

#include <ATen/core/Tensor.h>

#include <map>

#include "nascent/export/graph.h"

namespace nascent {

// real = scale * (stored - zero), stored in 0..255.
struct ActivationScale {
  float scale = 1;
  uint8_t zero = 0;
};

// For each value that a quantised layer reads.
using Quantisation = std::map<int, ActivationScale>;

// Watches what the layers read while the graph runs.
class Calibration {
 public:
  void watch(const Graph& graph, const at::Tensor& pixels);
  Quantisation scales() const;

 private:
  struct Range {
    double low = 0, high = 0;  // zero is always within: padding must be exact
  };
  std::map<int, Range> ranges_;
};

// int8 weights and, for each output channel, the scale: weight ~ scale * stored, stored in -64..64. Processors without
// VNNI add two products of a weight and an activation (0..255) in 16 bits, which larger weights would overflow: the
// kernels of ONNX Runtime then saturate, and accuracy is gone without a word.
struct QuantisedWeight {
  at::Tensor stored, scale;
};
QuantisedWeight quantise_weight(const at::Tensor& weight);

// The graph as a reader of the int8 file computes it, in floats: for telling what quantisation costs.
at::Tensor run_quantised(const Graph& graph, const Quantisation& quantisation, const at::Tensor& pixels);

}  // namespace nascent
