#include "nascent/export/quantise.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

namespace nascent {

void Calibration::watch(const Graph& graph, const at::Tensor& pixels) {
  run(graph, pixels, [this](int value, const at::Tensor& tensor) {
    Range& range = ranges_[value];
    range.low = std::min(range.low, tensor.min().item<double>());
    range.high = std::max(range.high, tensor.max().item<double>());
    return tensor;
  });
}

Quantisation Calibration::scales() const {
  Quantisation scales;
  for (const auto& [value, range] : ranges_) {
    const double width = range.high - range.low;
    const auto scale = static_cast<float>(width > 0 ? width / 255 : 1);
    const double zero = std::clamp(std::nearbyint(-range.low / scale), 0.0, 255.0);
    scales[value] = {scale, static_cast<uint8_t>(zero)};
  }
  return scales;
}

QuantisedWeight quantise_weight(const at::Tensor& weight) {
  constexpr int kLargest = 127;
  const at::Tensor rows = weight.reshape({weight.size(0), -1});
  const at::Tensor largest = rows.abs().amax(1);
  const at::Tensor scale = at::where(largest > 0, largest / kLargest, at::ones_like(largest));
  const at::Tensor steps = (rows / scale.unsqueeze(1)).round().clamp(-kLargest, kLargest);
  const at::Tensor stored = (steps + kWeightZero).to(at::kByte);
  return {stored.view(weight.sizes()).contiguous(), scale.contiguous()};
}

at::Tensor run_quantised(const Graph& graph, const Quantisation& quantisation, const at::Tensor& pixels) {
  Graph rounded = graph;
  for (GraphNode& node : rounded.nodes) {
    if (!is_quantised(node)) continue;
    const auto [stored, scale] = quantise_weight(node.weight);
    std::vector<int64_t> broadcast(node.weight.dim(), 1);
    broadcast[0] = -1;
    node.weight = (stored.to(at::kFloat) - kWeightZero) * scale.view(broadcast);
  }
  return run(rounded, pixels, [&](int value, const at::Tensor& tensor) {
    const ActivationScale& by = quantisation.at(value);
    const at::Tensor stored = ((tensor / by.scale).round() + static_cast<double>(by.zero)).clamp(0, 255);
    return (stored - static_cast<double>(by.zero)) * by.scale;
  });
}

}  // namespace nascent
