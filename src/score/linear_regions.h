// Two measures of a tape that metrics and TE-NAS share.
#pragma once

#include "nascent/score/sample_gradients.h"

namespace nascent {

constexpr int kRegionSide =
    3;  // pixels: regions are counted on tiny images, which are far fewer than there are regions

// Images of Gaussian noise.
at::Tensor normal_images(const Shape& shape, int64_t count, uint64_t seed, const std::string& purpose);

// In how many ways the ReLUs divide the images.
double count_linear_regions(const Tape& tape, const at::Tensor& images);

// Condition number of the tangent kernel of the sum of each image's logits; infinite where it is singular.
double kernel_condition(const Tape& tape, const at::Tensor& images, KernelGradients gradients,
                        KernelParameters parameters = KernelParameters::weights);

// Calls `visit` with the sign pattern [N, units] of every ReLU and the number of layers that it stands for.
using PatternVisitor = std::function<void(const at::Tensor& pattern, int copies)>;
void for_each_pattern(const Tape& tape, const Trace& trace, const PatternVisitor& visit);

}  // namespace nascent
