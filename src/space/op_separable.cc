// sep_conv_3x3, sep_conv_5x5, sep_conv_7x7: two depthwise separable convolutions, as in NASNet and DARTS.
#include "nascent/space/operation.h"

namespace nascent {

namespace {

Stages sep_conv(const OperationSite& site, int kernel) {
  return {stage::relu(site.in),
          stage::depthwise(site.in, kernel, site.stride),
          stage::conv(site.in, site.in, 1),
          stage::batch_norm(site.in, site.affine),
          stage::relu(site.in),
          stage::depthwise(site.in, kernel, 1),
          stage::conv(site.in, site.out, 1),
          stage::batch_norm(site.out, site.affine)};
}

}  // namespace

NASCENT_REGISTER(Operation, "sep_conv_3x3", "3x3 depthwise separable convolution, twice",
                 [](const OperationSite& site) { return sep_conv(site, 3); });
NASCENT_REGISTER(Operation, "sep_conv_5x5", "5x5 depthwise separable convolution, twice",
                 [](const OperationSite& site) { return sep_conv(site, 5); });
NASCENT_REGISTER(Operation, "sep_conv_7x7", "7x7 depthwise separable convolution, twice",
                 [](const OperationSite& site) { return sep_conv(site, 7); });

}  // namespace nascent
