// Which lists of stages the engine has kernels for. The others are plain units: LibTorch computes them, within a cell
// that is fused otherwise.
#pragma once

#include "nascent/space/stage.h"

namespace nascent {

// Of a list that starts at a state of a cell and ends in a sum.
bool has_fused_form(const Stages& stages);

bool is_depthwise(const Stage& stage);

}  // namespace nascent
