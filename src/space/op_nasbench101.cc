// conv1x1-bn-relu, conv3x3-bn-relu, maxpool3x3: the vertex operations of NAS-Bench-101 and NAS-Bench-1Shot1.
#include "nascent/space/operation.h"

namespace nascent {

namespace {

Stages conv_bn_relu(const OperationSite& site, int kernel) {
  return {stage::conv(site.in, site.out, kernel, site.stride), stage::batch_norm(site.out, site.affine),
          stage::relu(site.out)};
}

Stages maxpool3x3(const OperationSite& site) {
  Stages stages;
  if (site.in != site.out) stages = conv_bn_relu({.in = site.in, .out = site.out, .affine = site.affine}, 1);
  stages.push_back(stage::max_pool(site.out, 3, site.stride, 1));
  if (site.pool_norm) stages.push_back(stage::batch_norm(site.out, site.affine));
  return stages;
}

}  // namespace

NASCENT_REGISTER(Operation, "conv1x1-bn-relu", "1x1 convolution, BN, ReLU",
                 [](const OperationSite& site) { return conv_bn_relu(site, 1); });
NASCENT_REGISTER(Operation, "conv3x3-bn-relu", "3x3 convolution, BN, ReLU",
                 [](const OperationSite& site) { return conv_bn_relu(site, 3); });
NASCENT_REGISTER(Operation, "maxpool3x3", "3x3 max pooling", maxpool3x3);

}  // namespace nascent
