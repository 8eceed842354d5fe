// Second derivatives of the loss along two directions, the weights themselves and a gradient: the products w' H g that
// GraSP is made of. Carried forwards through the tape beside the values, so they are exact and need no further backward
// pass: with L(w + a g + b w), each value carries its derivatives by a, by b, and by both.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "nascent/score/passes.h"

namespace nascent {

// w' H g for the Hessian H of the mean cross-entropy over the batch. `directions` is g, by step; undefined: zero.
double gradient_curvature(const Tape& tape, const Trace& trace, const at::Tensor& labels,
                          const std::vector<at::Tensor>& directions);

// The mean over images of w' H_i g_i, with the loss, Hessian and gradient of each image apart; batch statistics are
// constant. `gradients` are those of each layer's output, by step, from the backward pass of the summed loss.
double sample_curvature(const Tape& tape, const Trace& trace, const at::Tensor& labels,
                        const std::vector<at::Tensor>& gradients);

}  // namespace nascent
