#include "nascent/nn/plain_operation.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

namespace nascent {

namespace {

// The batch as a tensor, where it lies.
at::Tensor view_of(const kernels::Batch& batch) {
  const int64_t row = batch.width * batch.pixel;
  const at::ScalarType type = batch.data.precision() == kernels::Precision::single ? at::kFloat : at::kBFloat16;
  return at::from_blob(batch.data.data(), {batch.images, batch.channels, batch.height, batch.width},
                       {batch.height * row, 1, row, batch.pixel}, at::TensorOptions(type));
}

// The same in floats, which are a copy where it is stored otherwise.
at::Tensor floats_of(const kernels::Batch& batch) { return view_of(batch).to(at::kFloat); }

}  // namespace

void PlainOperation::forward(const kernels::Batch& input, const kernels::Batch& output, bool keep) {
  const at::AutoGradMode grad_mode(keep);
  const at::Tensor x = floats_of(input).requires_grad_(keep);
  const at::Tensor result = stages_.forward(x);
  view_of(output).copy_(result.detach());
  if (!keep) return;
  input_ = x;
  output_ = result;
}

void PlainOperation::backward(const kernels::Batch& output_gradient, const kernels::Batch& input_gradient,
                              const std::vector<at::Tensor>& parameter_gradients) const {
  std::vector<at::Tensor> sources, targets;
  if (input_gradient.data) {
    sources.push_back(input_);
    targets.push_back(view_of(input_gradient));
  }
  const std::vector<at::Tensor> parameters = parameters_of(stages_);
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (!parameter_gradients[i].defined()) continue;
    sources.push_back(parameters[i]);
    targets.push_back(parameter_gradients[i]);
  }
  if (sources.empty()) return;
  std::vector<at::Tensor> found(sources.size());
  if (output_.requires_grad()) {  // zeros do not
    found = torch::autograd::grad({output_}, sources, {floats_of(output_gradient)}, /*retain_graph=*/true,
                                  /*create_graph=*/false, /*allow_unused=*/true);
  }
  for (size_t i = 0; i < targets.size(); ++i) {
    if (found[i].defined()) {
      targets[i].copy_(found[i]);
    } else {
      targets[i].zero_();
    }
  }
}

std::vector<at::Tensor> parameters_of(const StageSequence& stages) {
  std::vector<at::Tensor> parameters;
  for (const auto& layer : stages.layers()) {
    for (const at::Tensor& tensor : {layer->weight(), layer->bias()}) {
      if (tensor.defined()) parameters.push_back(tensor);
    }
  }
  return parameters;
}

}  // namespace nascent
