// Gradients of a layer's weight for every image apart, from the layer's input and the gradient of its output: one
// product per image instead of one backward pass per image.
#pragma once

#include <ATen/core/Tensor.h>

#include "nascent/score/passes.h"

namespace nascent {

// Adds <J_i, J_j> of the step's weight, for all pairs of images, to `gram` ([N, N], double). Holds no more than
// `kGramBytes` of gradients at a time, or one output channel's where that is more.
constexpr int64_t kGramBytes = int64_t{64} << 20;
void add_gram(const Step& step, const at::Tensor& x, const at::Tensor& gradient, at::Tensor& gram);

// How the tangent kernel's gradients of one image are taken, where batch norms make every logit depend on all images.
enum class KernelGradients {
  constant,  // with the batch's statistics as constants: one backward pass gives the images' gradients apart
  summed,    // of the sum of all images' logits, statistics coupled, each layer's gradient taken apart by image: what
             // published implementations do; one backward pass
  coupled    // of the image's own logit through all images: a backward pass per image
};

// What a tangent kernel's gradients are taken by: the weights of convolutions and linear layers, or the scales of batch
// norms too, also of those that have none (theirs is 1).
enum class KernelParameters { weights, norm_scales_too };

// Gram matrix [N, N] (double) of the images' gradients of all weights, where the gradient of the logits is `seed`.
at::Tensor gram_matrix(const Tape& tape, const Trace& trace, const at::Tensor& seed, KernelGradients gradients,
                       KernelParameters parameters = KernelParameters::weights);

// The gradients of a batch norm's scale, [N, channels], from its input, its statistics and the gradient of its output.
at::Tensor scale_gradients(const at::Tensor& x, const Trace::Norm& norm, const at::Tensor& gradient);

// J_i of output channels [first, first + count): [N, count * weights per channel], in an order of its own.
at::Tensor sample_gradients(const Step& step, const at::Tensor& x, const at::Tensor& gradient, int64_t first,
                            int64_t count);

// Calls `visit` with J_i of all output channels, one block of them after another, each of at most `kGramBytes` or one
// output channel's; `first` is a block's first channel.
using BlockVisitor = std::function<void(const at::Tensor& rows, int64_t first)>;
void for_each_block(const Step& step, const at::Tensor& x, const at::Tensor& gradient, const BlockVisitor& visit);

// Numbers of a block, one per weight, in the order and shape of the weight's own: [channels, in, kernel_h, kernel_w].
at::Tensor in_weight_order(const Step& step, const at::Tensor& numbers);

// The step applied to `operand` with J_i, the gradient of image i, in place of the weight: image by image.
at::Tensor apply_sample_gradients(const Step& step, const at::Tensor& x, const at::Tensor& gradient,
                                  const at::Tensor& operand);

}  // namespace nascent
