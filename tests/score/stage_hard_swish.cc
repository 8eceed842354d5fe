// hard_swish, the non-linearity of MobileNetV3, and an operation that begins with it.
#include <ATen/ATen.h>

#include "nascent/nn/layer_rule.h"
#include "nascent/score/tape_rule.h"
#include "nascent/space/operation.h"

namespace nascent {
namespace {

NASCENT_REGISTER(StageRule, "hard_swish", "hard swish", [](const Stage&, const Shape& input) { return input; });
NASCENT_REGISTER(LayerRule, "hard_swish", "x relu6(x + 3) / 6",
                 [](const Layer&, const at::Tensor& x) { return x * at::clamp(x + 3, 0, 6) / 6; });
NASCENT_REGISTER(TapeRule, "hard_swish", "by LibTorch", tape_function);

Stages swish_conv(const OperationSite& site) {
  return {{.kind = stage_kind("hard_swish"), .in = site.in, .out = site.in},
          stage::conv(site.in, site.out, 3, site.stride),
          stage::batch_norm(site.out, site.affine)};
}

NASCENT_REGISTER(Operation, "swish_conv_3x3", "hard swish, 3x3 convolution, BN", swish_conv);

}  // namespace
}  // namespace nascent
