// Passes over a tape: forward, with everything that derivatives need kept, and backward from any gradient of the
// logits. Batch norms use the statistics of the batch, or the running ones where the tape evaluates; the latter are
// constants whatever a pass is told.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <vector>

#include "nascent/score/channel_kernels.h"
#include "nascent/score/tape.h"

namespace nascent {

// What one forward pass leaves behind.
struct Trace {
  struct Norm {
    ChannelValues mean, variance, rate;  // rate: 1 / sqrt(variance + epsilon)
  };
  std::vector<at::Tensor> values;   // by value; undefined where it is not kept
  std::vector<Norm> norms;          // by step
  std::vector<at::Tensor> indices;  // by step: where the maxima of a max pooling are

  int64_t bytes() const;
};

// Whether all values are kept, or only what derivatives need.
enum class Keep { needed, everything };
Trace forward(const Tape& tape, const at::Tensor& images, Keep keep = Keep::needed);

// How the statistics of batch norms are differentiated. Coupled: they depend on every image of the batch, as in
// training, so the gradient of one image's logit passes through all images. Constant: they are numbers, so what one
// image's logit depends on is that image alone, and one backward pass gives the gradients of all images apart.
enum class Statistics { coupled, constant };

// That of a batch norm's running statistics.
Trace::Norm running_norm(const Step& step);

// Called at every convolution and linear layer (Visits::weights), and at every affine batch norm too
// (Visits::parameters), or at every batch norm whether it has a scale of its own or 1 (Visits::norms), with the
// gradient of its output.
using WeightVisitor = std::function<void(size_t step, const at::Tensor& gradient)>;
enum class Visits { weights, parameters, norms };

// Propagates `seed`, the gradient of the logits [N, classes], down to the first weights; to the image too, and returns
// its gradient, where `to_image` is set.
at::Tensor backward(const Tape& tape, const Trace& trace, const at::Tensor& seed, Statistics statistics,
                    const WeightVisitor& visit, bool to_image = false, Visits visits = Visits::weights);

// The gradient of the weight of a convolution or linear layer, summed over the images.
at::Tensor weight_gradient(const Step& step, const at::Tensor& x, const at::Tensor& gradient);

// The linear map of a step: everything but batch norm and the poolings and ReLUs that choose. `weight` stands in for
// the step's own where there is one; no bias.
at::Tensor linear_map(const Step& step, const std::vector<at::Tensor>& in, const at::Tensor& weight);

// Of a step of kind `function`: its derivative at x along t, and the part of the second derivative along a and b that
// is bilinear in them.
at::Tensor derivative_along(const Step& step, const at::Tensor& x, const at::Tensor& t);
at::Tensor second_derivative_along(const Step& step, const at::Tensor& x, const at::Tensor& a, const at::Tensor& b);

// d loss / d logits of the mean cross-entropy, times the number of images: softmax - target.
at::Tensor cross_entropy_seed(const at::Tensor& logits, const at::Tensor& labels);
// 1 at the label: the seed of the logits of the true classes.
at::Tensor label_seed(const at::Tensor& logits, const at::Tensor& labels);

}  // namespace nascent
