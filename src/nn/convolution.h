// LibTorch's convolution with derivatives of every order that are convolutions again.
//
// LibTorch differentiates the gradient of a convolution by other means than its fast kernels: group by group, through
// transposed copies. Second-order searches differentiate each of some hundred convolutions twice in every step.
#pragma once

#include <ATen/core/Tensor.h>

#include "nascent/space/stage.h"

namespace nascent {

// The convolution that `stage` describes; `bias` may be undefined.
at::Tensor convolution(const Stage& stage, const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias);

}  // namespace nascent
