// none and skip_connect: the operations without a receptive field.
#include "nascent/space/operation.h"

namespace nascent {

namespace {

Stages none(const OperationSite& site) { return {stage::zero(site.in, site.out, site.stride)}; }

Stages skip_connect(const OperationSite& site) {
  if (site.stride == 1 && site.in == site.out) return {};
  if (site.stride == 1) return relu_conv_bn(site, 1);
  return relu_reduce_bn(site);
}

}  // namespace

NASCENT_REGISTER(Operation, "none", "zeros: no connection", none);
NASCENT_REGISTER(Operation, "skip_connect", "identity; at stride 2 ReLU, factorised reduce, BN", skip_connect);

}  // namespace nascent
