// Candidate operations by name. An operation is a function from its surroundings to a list of stages; adding one is one
// new file with a NASCENT_REGISTER(Operation, ...) at its foot.
#pragma once

#include <string>

#include "nascent/core/registry.h"
#include "nascent/space/stage.h"

namespace nascent {

// Where an operation stands.
struct OperationSite {
  int in = 0, out = 0;  // channels
  int stride = 1;
  bool affine = true;      // learnt scale and shift in batch norms (off while searching)
  bool pool_norm = false;  // batch norm after pooling (DARTS supernets)
};

struct Operation {
  static std::string kind() { return "operation"; }
  using Registry = nascent::Registry<Operation, Stages(const OperationSite&)>;
};

// The stages of a named operation; an unknown name lists the known ones.
Stages operation_stages(const std::string& name, const OperationSite& site);

// True where the operation has weights; `none`, `skip_connect` (stride 1) and pools do not.
bool is_parametric(const std::string& operation);

// Blocks that operations and skeletons share: ReLU-convolution-BN, and ReLU-factorised reduce-BN (stride 2, whatever
// the site says).
Stages relu_conv_bn(const OperationSite& site, int kernel);
Stages relu_reduce_bn(const OperationSite& site);

}  // namespace nascent
