// What the engine will take for a cell, from its program: the same schedules and places as in a run, without running.
#pragma once

#include "nascent/kernels/cell_program.h"

namespace nascent {

// In bytes, of a batch in training.
struct CellMemory {
  double kept = 0;      // from the forward pass to the backward one
  double weights = 0;   // as long, in the order that kernels read
  double forward = 0;   // besides, while the forward pass runs
  double backward = 0;  // besides, while the backward pass runs
};

// `float_inputs`: so many inputs, the first ones, come as floats whatever the program's precision, as from a stem.
CellMemory cell_memory(const kernels::CellProgram& program, int float_inputs, int batch, int threads);

}  // namespace nascent
