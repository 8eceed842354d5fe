// The variance of the images' own gradients, g = E|grad f_i - E grad f|^2 ("Understanding architectures learnt by
// cell-based NAS", 4.2.2), over all parameters and by layer. The norms' running statistics are constants.
#pragma once

#include <map>
#include <string>

#include "nascent/analysis/weight_plane.h"

namespace nascent {

struct GradientVariance {
  double variance = 0;                     // g
  double mean_square = 0;                  // |E grad f|^2
  std::map<std::string, double> layers{};  // g by the layer's name
  double noise_scale() const { return variance / mean_square; }
};

// One backward pass a batch gives the gradients of all its images (score/gradient_moments.h); only sums are kept, so
// memory is that of one batch.
GradientVariance gradient_variance(Network& network, const ImageBatches& batches);

// "layer,variance" by line.
std::string layer_csv(const GradientVariance& found);

}  // namespace nascent
