// The linear networks of the theory, n weight matrices side by side on the input (wide) or one after the other (deep),
// whose tangent kernels are known in closed form.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "nascent/nn/network.h"

namespace nascent {

// A network of vectors, images of one pixel: branches side by side, summed, and a linear layer.
NetworkPlan vector_network(int inputs, const std::vector<Stages>& branches, int features);
// Standard normal weights in double precision, and a last layer of ones.
Network standard_network(const NetworkPlan& plan, uint64_t seed);
// `count` orthonormal vectors of `size` numbers, as images.
at::Tensor orthonormal_images(int64_t count, int64_t size, uint64_t seed);

// The tangent kernel, in parts: of the convolutions' weights, and of the last layer's.
struct TangentKernel {
  at::Tensor hidden, head;
};
TangentKernel tangent_kernel(const Network& network, const at::Tensor& images);

}  // namespace nascent
