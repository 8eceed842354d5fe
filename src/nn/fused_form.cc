#include "nascent/nn/fused_form.h"

namespace nascent {

namespace {

// The backward pass turns a convolution around, which needs as many pixels on both sides; with a stride it scatters.
bool keeps_size(const Stage& stage) {
  return 2 * stage.padding_h == stage.dilation * (stage.kernel_h - 1) &&
         2 * stage.padding_w == stage.dilation * (stage.kernel_w - 1);
}

bool is_fused_convolution(const Stage& stage) {
  const bool strided = stage.stride_h > 1 || stage.stride_w > 1;
  return !stage.bias && (stage.groups == 1 || is_depthwise(stage)) && (strided || keeps_size(stage));
}

}  // namespace

bool is_depthwise(const Stage& stage) { return stage.groups == stage.in && stage.in == stage.out && stage.groups > 1; }

bool has_fused_form(const Stages& stages) {
  // Of what the next stage reads: the result of a unit (or still the state), and what has been done to it since. States
  // are not normalised, because others read them as they are; and of them only, some channels can be read.
  bool of_unit = false, normalised = false, rectified = false;
  for (const Stage& stage : stages) {
    switch (stage.kind) {
      case StageKind::relu:
        rectified = true;
        continue;
      case StageKind::batch_norm:
        if (!of_unit || normalised || rectified) return false;
        normalised = true;
        continue;
      case StageKind::truncate:
        if (of_unit) return false;
        continue;
      case StageKind::conv:
        if (!is_fused_convolution(stage)) return false;
        break;
      case StageKind::factorized_reduce:
        break;
      case StageKind::max_pool:
      case StageKind::avg_pool:
        if (normalised || rectified) return false;
        break;
      default:
        return false;
    }
    of_unit = true;
    normalised = rectified = false;
  }
  return normalised || !rectified;
}

}  // namespace nascent
