// A part of a fused cell that the engine has no kernels for: LibTorch computes it for the whole batch, with a graph of
// its own that is kept for the backward pass.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "nascent/kernels/plain_unit.h"
#include "nascent/nn/stage_sequence.h"

namespace nascent {

class PlainOperation {
 public:
  explicit PlainOperation(const StageSequence& stages) : stages_(stages) {}

  // Where `keep` is set, `input` must stay until backward().
  void forward(const kernels::Batch& input, const kernels::Batch& output, bool keep);
  // Fills the gradients that are wanted: that of the input, and those of parameters_of() that are defined.
  void backward(const kernels::Batch& output_gradient, const kernels::Batch& input_gradient,
                const std::vector<at::Tensor>& parameter_gradients) const;

 private:
  const StageSequence& stages_;
  at::Tensor input_, output_;
};

// Weights and biases in the order of layers.
std::vector<at::Tensor> parameters_of(const StageSequence& stages);

}  // namespace nascent
