// What LibTorch and the engine must know of a kind of stage: NASCENT_REGISTER(LayerRule, "conv", ...) beside the
// StageRule of the same name. tests/score/stage_kinds_test.cc names the kinds that have one and not the other.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "nascent/core/registry.h"
#include "nascent/kernels/cell_program.h"
#include "nascent/space/stage.h"

namespace nascent {

class Layer;

// What a stage is to the engine, within a list of stages that starts at a state of a cell and ends in a sum.
struct FusedForm {
  enum class Role {
    none,         // the engine has no kernels for it: LibTorch computes the whole list, within a cell that is fused
    rectifier,    // whoever reads the value rectifies it
    norm,         // ... or normalises it
    selection,    // ... or reads the first channels only
    convolution,  // a unit of its own, which may read what is normalised and rectified
    pool          // ... which reads values as they are
  };
  Role role = Role::none;
  bool (*fits)(const Stage& stage) = nullptr;           // null: always
  kernels::Unit (*unit)(const Stage& stage) = nullptr;  // of convolutions and pools: all but values and weights
};

struct LayerFacts {
  std::vector<int64_t> (*weight)(const Stage& stage) = nullptr;  // sizes; null or empty: none
  bool (*bias)(const Stage& stage) = nullptr;                    // null: none
  bool norm = false;  // keeps running statistics; weight and bias start at 1 and 0
  FusedForm fused{};
};

struct LayerRule {
  static std::string kind() { return "layer"; }
  // The forward pass.
  using Registry = nascent::Registry<LayerRule, at::Tensor(const Layer& layer, const at::Tensor& x), LayerFacts>;
};

// An Error that says what to do where a kind of stage has none.
const LayerRule::Registry::Entry& layer_rule(StageKind kind);

}  // namespace nascent
