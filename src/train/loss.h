// The loss of classifiers.
#pragma once

#include <ATen/core/Tensor.h>

namespace nascent {

// Mean cross-entropy; with smoothing s, the target is 1 - s at the label plus s / classes everywhere.
at::Tensor classification_loss(const at::Tensor& logits, const at::Tensor& labels, double smoothing = 0);

}  // namespace nascent
