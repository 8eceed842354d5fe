// What convolutions and linear layers read and made, as a forward hook on every layer would note it, and from that the
// weight gradients of single images in one backward pass: plain LibTorch, for benchmarks.
#pragma once

#include <ATen/ATen.h>
#include <ATen/record_function.h>
#include <torch/csrc/autograd/autograd.h>

#include <cstring>
#include <memory>
#include <vector>

namespace nascent {

class LayerTape {
 public:
  LayerTape() {
    layers().clear();
    handle_ = at::addThreadLocalCallback(at::RecordFunctionCallback(&begin, &end).needsInputs(true).needsOutputs(true));
  }
  ~LayerTape() { at::removeCallback(handle_); }
  LayerTape(const LayerTape&) = delete;

  // Of the sum of `outputs`, [images, weights]: each layer's gradient is split by image. Batch norms pass on what one
  // image does to others, so these are not the gradients of single outputs; published code takes them for that.
  static at::Tensor gradients(const at::Tensor& outputs) {
    std::vector<at::Tensor> made, parts;
    for (const Layer& layer : layers()) made.push_back(layer.output);
    const auto found = torch::autograd::grad({outputs.sum()}, made, {}, false, false, /*allow_unused=*/true);
    for (size_t i = 0; i < found.size(); ++i) {
      if (found[i].defined()) parts.push_back(layers()[i].split(found[i]));
    }
    return at::cat(parts, 1);
  }

 private:
  struct Layer {
    at::Tensor input, output;
    std::vector<int64_t> kernel, stride, padding, dilation;  // of a convolution

    at::Tensor split(const at::Tensor& gradient) const {
      const at::Tensor windows =
          kernel.empty() ? input.detach().unsqueeze(2) : at::im2col(input.detach(), kernel, dilation, padding, stride);
      return at::bmm(gradient.reshape({gradient.size(0), gradient.size(1), -1}), windows.transpose(1, 2)).flatten(1);
    }
  };

  static std::vector<Layer>& layers() {
    static thread_local std::vector<Layer> all;
    return all;
  }

  struct Call : at::ObserverContext {
    Layer layer;
  };

  static std::unique_ptr<at::ObserverContext> begin(const at::RecordFunction& function) {
    const bool convolution = !std::strcmp(function.name(), "aten::conv2d");
    if (!convolution && std::strcmp(function.name(), "aten::linear") != 0) return nullptr;
    const auto inputs = function.inputs();
    auto call = std::make_unique<Call>();
    call->layer.input = inputs[0].toTensor();
    if (!convolution) return call;
    const auto sides = inputs[1].toTensor().sizes();
    call->layer.kernel = {sides[2], sides[3]};
    call->layer.stride = inputs[3].toIntVector();
    call->layer.padding = inputs[4].toIntVector();
    call->layer.dilation = inputs[5].toIntVector();
    return call;
  }

  static void end(const at::RecordFunction& function, at::ObserverContext* context) {
    if (!context) return;
    Layer& layer = static_cast<Call*>(context)->layer;
    layer.output = function.outputs()[0].toTensor();
    layers().push_back(layer);
  }

  at::CallbackHandle handle_;
};

}  // namespace nascent
