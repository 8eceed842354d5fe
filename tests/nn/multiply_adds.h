// Counts multiply-adds of convolutions and matrix products while they run, from the tensors that LibTorch sees; so
// everything runs on its plain operations meanwhile.
#pragma once

#include <ATen/record_function.h>
#include <torch/torch.h>

#include <cstring>
#include <memory>
#include <vector>

#include "nascent/nn/engine.h"

namespace nascent::testing_nn {

class MultiplyAddCounter {
 public:
  MultiplyAddCounter() {
    current() = 0;
    handle_ = at::addThreadLocalCallback(at::RecordFunctionCallback(&count).needsInputs(true));
  }
  ~MultiplyAddCounter() { at::removeCallback(handle_); }
  int64_t total() const { return current(); }

 private:
  EngineScope plain_{Engine::reference};

  static int64_t& current() {
    static thread_local int64_t total = 0;
    return total;
  }

  static std::unique_ptr<at::ObserverContext> count(const at::RecordFunction& function) {
    const auto inputs = function.inputs();
    if (std::strcmp(function.name(), "aten::conv2d") == 0) current() += convolution(inputs);
    if (std::strcmp(function.name(), "aten::linear") == 0) {
      current() += inputs[0].toTensor().size(0) * inputs[1].toTensor().numel();
    }
    return nullptr;
  }

  // Output pixels, counted by the sides that a sliding window has room for, times the weights.
  static int64_t convolution(c10::ArrayRef<const c10::IValue> inputs) {
    const at::Tensor x = inputs[0].toTensor(), weight = inputs[1].toTensor();
    const auto stride = inputs[3].toIntVector(), padding = inputs[4].toIntVector(), dilation = inputs[5].toIntVector();
    int64_t pixels = x.size(0);
    for (int64_t side = 0; side < 2; ++side) {
      const auto of = [side](const std::vector<int64_t>& values) { return values[values.size() == 1 ? 0 : side]; };
      const int64_t window = of(dilation) * (weight.size(2 + side) - 1) + 1;
      int64_t places = 0;
      for (int64_t at = 0; at + window <= x.size(2 + side) + 2 * of(padding); at += of(stride)) ++places;
      pixels *= places;
    }
    return pixels * weight.numel();
  }

  at::CallbackHandle handle_;
};

}  // namespace nascent::testing_nn
