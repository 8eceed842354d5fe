// dil_conv_3x3 and dil_conv_5x5: one depthwise separable convolution with dilation 2.
#include "nascent/space/operation.h"

namespace nascent {

namespace {

Stages dil_conv(const OperationSite& site, int kernel) {
  return {stage::relu(site.in), stage::depthwise(site.in, kernel, site.stride, 2), stage::conv(site.in, site.out, 1),
          stage::batch_norm(site.out, site.affine)};
}

}  // namespace

NASCENT_REGISTER(Operation, "dil_conv_3x3", "3x3 depthwise separable convolution with dilation 2",
                 [](const OperationSite& site) { return dil_conv(site, 3); });
NASCENT_REGISTER(Operation, "dil_conv_5x5", "5x5 depthwise separable convolution with dilation 2",
                 [](const OperationSite& site) { return dil_conv(site, 5); });

}  // namespace nascent
