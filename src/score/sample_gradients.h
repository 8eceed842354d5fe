// Gradients of a layer's weight for every image apart, from the layer's input and the gradient of its output: one
// product per image instead of one backward pass per image.
#pragma once

#include <ATen/core/Tensor.h>

#include "score/tape.h"

namespace nascent {

// Adds <J_i, J_j> of the step's weight, for all pairs of images, to `gram` ([N, N], double). Holds no more than
// `kGramBytes` of gradients at a time, or one output channel's where that is more.
constexpr int64_t kGramBytes = int64_t{64} << 20;
void add_gram(const Step& step, const at::Tensor& x, const at::Tensor& gradient, at::Tensor& gram);

// J_i of output channels [first, first + count): [N, count * weights per channel], in an order of its own.
at::Tensor sample_gradients(const Step& step, const at::Tensor& x, const at::Tensor& gradient, int64_t first,
                            int64_t count);

// The step applied to `operand` with J_i, the gradient of image i, in place of the weight: image by image.
at::Tensor apply_sample_gradients(const Step& step, const at::Tensor& x, const at::Tensor& gradient,
                                  const at::Tensor& operand);

}  // namespace nascent
