// Dense convolutions: conv_7x1_1x7 (NASNet, AmoebaNet), nor_conv_1x1 and nor_conv_3x3 (NAS-Bench-201).
#include "nascent/space/operation.h"

namespace nascent {

namespace {

Stages conv_7x1_1x7(const OperationSite& site) {
  return {stage::relu(site.in), stage::conv_hw(site.in, site.in, 1, 7, 1, site.stride),
          stage::conv_hw(site.in, site.out, 7, 1, site.stride, 1), stage::batch_norm(site.out, site.affine)};
}

}  // namespace

NASCENT_REGISTER(Operation, "conv_7x1_1x7", "1x7 then 7x1 convolution", conv_7x1_1x7);
NASCENT_REGISTER(Operation, "nor_conv_1x1", "ReLU, 1x1 convolution, BN",
                 [](const OperationSite& site) { return relu_conv_bn(site, 1); });
NASCENT_REGISTER(Operation, "nor_conv_3x3", "ReLU, 3x3 convolution, BN",
                 [](const OperationSite& site) { return relu_conv_bn(site, 3); });

}  // namespace nascent
