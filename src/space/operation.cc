#include "nascent/space/operation.h"

namespace nascent {

Stages operation_stages(const std::string& name, const OperationSite& site) {
  return Operation::Registry::instance().make(name, site);
}

bool is_parametric(const std::string& operation) {
  return parameters(operation_stages(operation, {.in = 8, .out = 8})) > 0;
}

Stages relu_conv_bn(const OperationSite& site, int kernel) {
  return {stage::relu(site.in), stage::conv(site.in, site.out, kernel, site.stride),
          stage::batch_norm(site.out, site.affine)};
}

Stages relu_reduce_bn(const OperationSite& site) {
  return {stage::relu(site.in), stage::factorized_reduce(site.in, site.out), stage::batch_norm(site.out, site.affine)};
}

}  // namespace nascent
