// Dense 3x3 convolutions with fewer multiplications: Winograd's F(4x4, 3x3) (Lavin & Gray, 2016).
//
// Four neighbouring outputs of a row need six inputs. Both are taken to six points, where the convolution along the row
// is a product. Done along columns too, 16 outputs need 36 products of pixels, a quarter of the multiplications, at the
// price of rounding: see tests/kernels/winograd_test.cc. The gradients of weights are taken to points along rows only,
// which is half of the multiplications: along columns too, each point would have few pixels and weights of its own.
// Not for bf16, which leaves nothing for rounding to grow.
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

// Whether a unit is computed in this way: a 3x3 convolution of stride one whose rows and columns are whole groups of
// outputs.
bool uses_winograd(const CellProgram& program, const Unit& unit);

// Rows that are computed at a time, and the floats that this needs besides.
constexpr int kWinogradRows = 32;
size_t winograd_floats(int width, int ci, int co);

// What a convolution reads, and how many outputs it makes of it. The first row and column of `in` lie one before those
// of the outputs.
struct WinogradInput {
  Rows<const float> in;
  int ci;
  int rows, width, co;  // of the outputs
  float* scratch;       // winograd_floats(width, ci, co)
};

// out = convolution of the input; added to it if `add`. Weights are [point of rows][point of columns][input][output].
void winograd(const ImageKernels& kernels, const WinogradInput& input, const float* weights, bool add, Rows<float> out);

// Adds to the gradients of the weights, [point of rows][row of the kernel][input][output]; `gradient` is that of the
// outputs.
void winograd_weights(const ImageKernels& kernels, const WinogradInput& input, Rows<const float> gradient,
                      float* gradients);

}  // namespace nascent::kernels
