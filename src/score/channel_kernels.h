// Sums over, and linear combinations of, images stored channels-last: what batch norms, average poolings and their
// derivatives are made of. LibTorch's own kernels are several times slower where there are few channels, as in the
// small networks that scores are taken from.
#pragma once

#include <ATen/core/Tensor.h>

#include <utility>
#include <vector>

namespace nascent {

// Per channel of [N, C, H, W] tensors; coefficients are doubles, whatever the images are.
using ChannelValues = std::vector<double>;

// Mean of x over images and pixels.
ChannelValues channel_means(const at::Tensor& x);
// Mean of x * y over images and pixels.
ChannelValues channel_means(const at::Tensor& x, const at::Tensor& y);
// Mean of x and mean of (x - mean)^2.
std::pair<ChannelValues, ChannelValues> channel_moments(const at::Tensor& x);

struct ChannelTerm {
  at::Tensor x;
  ChannelValues factor;
};
// The sum of factor[c] * x over the terms (one to four), plus constant[c]; channels-last.
at::Tensor combine_channels(const std::vector<ChannelTerm>& terms, const ChannelValues& constant);

// Average pooling with stride 1 over windows of `side` (odd) pixels that keep the image's size; padding does not count.
// `transposed` is its derivative: the same map, transposed.
at::Tensor average_windows(const at::Tensor& x, int side, bool transposed = false);

// `x` stored channels-last; itself where it is so already.
at::Tensor channels_last(const at::Tensor& x);

}  // namespace nascent
