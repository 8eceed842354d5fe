// max_pool_3x3 and avg_pool_3x3, followed by a batch norm in DARTS supernets.
#include "nascent/space/operation.h"

namespace nascent {

namespace {

using PoolMaker = Stage (*)(int channels, int kernel, int stride, int padding);

Stages pool_3x3(const OperationSite& site, PoolMaker pool) {
  Stages stages;
  if (site.in != site.out) stages = relu_conv_bn({.in = site.in, .out = site.out, .affine = site.affine}, 1);
  stages.push_back(pool(site.out, 3, site.stride, 1));
  if (site.pool_norm) stages.push_back(stage::batch_norm(site.out, site.affine));
  return stages;
}

}  // namespace

NASCENT_REGISTER(Operation, "max_pool_3x3", "3x3 max pooling",
                 [](const OperationSite& site) { return pool_3x3(site, stage::max_pool); });
NASCENT_REGISTER(Operation, "avg_pool_3x3", "3x3 average pooling, padding not counted",
                 [](const OperationSite& site) { return pool_3x3(site, stage::avg_pool); });

}  // namespace nascent
