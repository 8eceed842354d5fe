// Dense 3x3 convolutions with half the multiplications: Winograd's F(4, 3) along rows (Lavin & Gray, 2016).
//
// Four neighbouring outputs of a row need six inputs. Both are taken to six points, where the convolution along the row
// is a product, and the three rows of the kernel are added up: six dense products of a quarter of the pixels and three
// taps, 18 multiplications instead of 36. Rounding grows by a small factor, because it is done in one direction only.
// Not for bf16, which leaves nothing for it to grow.
#pragma once

#include <array>
#include <cstddef>

#include "nascent/kernels/cell_program.h"

namespace nascent::kernels {

constexpr int kWinogradOutputs = 4, kWinogradPoints = 6;
// What the weights of a row of the kernel become at each point.
constexpr std::array<std::array<float, 3>, kWinogradPoints> kWinogradWeights = {{{1.0f / 4, 0, 0},
                                                                                 {-1.0f / 6, -1.0f / 6, -1.0f / 6},
                                                                                 {-1.0f / 6, 1.0f / 6, -1.0f / 6},
                                                                                 {1.0f / 24, 1.0f / 12, 1.0f / 6},
                                                                                 {1.0f / 24, -1.0f / 12, 1.0f / 6},
                                                                                 {0, 0, 1}}};

// Whether a unit is computed in this way: a 3x3 convolution of stride one whose rows are whole groups of outputs.
bool uses_winograd(const CellProgram& program, const Unit& unit);

// Rows that are computed at a time, and the floats that this needs besides.
constexpr int kWinogradRows = 8;
size_t winograd_floats(int width, int ci, int co);

// What a convolution reads, and how many outputs it makes of it. The first row and column of `in` lie one before those
// of the outputs.
struct WinogradInput {
  Rows<const float> in;
  int ci;
  int rows, width, co;  // of the outputs
  float* scratch;       // winograd_floats(width, ci, co)
};

// out = convolution of the input; added to it if `add`. Weights are [point][row of the kernel][input][output].
void winograd(const ImageKernels& kernels, const WinogradInput& input, const float* weights, bool add, Rows<float> out);

// Adds to the gradients of the weights, at the points; `gradient` is that of the outputs.
void winograd_weights(const ImageKernels& kernels, const WinogradInput& input, Rows<const float> gradient,
                      float* gradients);

}  // namespace nascent::kernels
