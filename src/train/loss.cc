#include "nascent/train/loss.h"

#include <ATen/core/Reduction.h>
#include <ATen/ops/cross_entropy_loss.h>

namespace nascent {

at::Tensor classification_loss(const at::Tensor& logits, const at::Tensor& labels, double smoothing) {
  constexpr int64_t kNoIgnoredLabel = -100;
  return at::cross_entropy_loss(logits, labels, /*weight=*/{}, at::Reduction::Mean, kNoIgnoredLabel, smoothing);
}

}  // namespace nascent
