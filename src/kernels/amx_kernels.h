// Dense convolutions of image_kernels.h on bf16 for CPUs with AMX: instructions that multiply tiles of 16 pixels by 32
// inputs with tiles of 32 inputs by 16 outputs.
#pragma once

#include "nascent/kernels/image_kernels.h"

namespace nascent::kernels {

// Whether the CPU has them and the system lets this process use them, together with AVX512_BF16.
bool has_amx();

// Inputs are bf16; see Dense and DenseWeights.
void dense_by_tiles(const Dense& convolution);
void dense_weights_by_tiles(const DenseWeights& sums);

}  // namespace nascent::kernels
