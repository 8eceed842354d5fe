// Eight bits instead of 32: weights with a scale per output channel, activations with a scale and a zero
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

// Weights in 8 bits and, for each output channel, the scale: weight ~ scale * (stored - kWeightZero), stored in 1..255.
// Symmetric, but without a sign: for signed weights ONNX Runtime, on processors without VNNI, adds two products in 16
// bits, which overflow, and accuracy is gone without a word.
constexpr uint8_t kWeightZero = 128;
struct QuantisedWeight {
  at::Tensor stored, scale;
};
QuantisedWeight quantise_weight(const at::Tensor& weight);

// The graph as a reader of the int8 file computes it, in floats: for telling what quantisation costs.
at::Tensor run_quantised(const Graph& graph, const Quantisation& quantisation, const at::Tensor& pixels);

}  // namespace nascent
