// What one thread works with while an image passes through a phase.
#pragma once

#include <algorithm>
#include <vector>

#include "nascent/kernels/cell_program.h"
#include "nascent/kernels/memory.h"

namespace nascent::kernels {

struct ScratchSizes {
  size_t input = 0;    // largest padded input of a convolution
  size_t between = 0;  // largest padded image between a depthwise and a dense convolution, or of an output gradient
  size_t rows = 0;     // a few rows of any value
  size_t ready = 0;    // those of an input from which they are made, where it has no halo
  size_t plane = 0;    // largest image of any value
  size_t tiles = 0;    // what Winograd's convolution needs
};

// Rows that a convolution takes through its two halves at a time: enough pixels for full tiles, few enough bytes for
// the first cache.
inline int rows_at_once(int width, int channels, Precision precision) {
  const int halves = precision == Precision::single ? 1 : 2, most_pixels = 96 * halves, most_numbers = 3584 * halves;
  return std::max(1, std::min(most_pixels, most_numbers / std::max(channels, 1)) / width);
}

ScratchSizes scratch_sizes(const CellProgram& program, const std::vector<Halo>& halos, bool backward);

// That of a pointwise convolution.
inline constexpr ptrdiff_t kHere = 0;
inline constexpr Taps kOneTap = {&kHere, 1};

// Room for an image with zeros around it.
struct Frame {
  // The place of the image. The zeros are written unless they are there already: nobody else writes around an image.
  Rows<Stored> around(const ValueShape& shape, int c, const Halo& halo, Precision precision);

  float* data = nullptr;

 private:
  ValueShape shape_;
  Halo halo_;
  Precision precision_ = Precision::single;
};

struct Scratch {
  Scratch(const ScratchSizes& sizes, bool backward);

  // Padded inputs of convolutions: the last one asked for, and in a backward pass the one before.
  struct PaddedInput {
    Read read;
    int image = -1;
    int rows = 0;  // so many are ready, from the top
    Frame frame;
  };
  PaddedInput held[2];
  void forget_inputs() { held[0].image = held[1].image = -1; }

  Frame between;
  float* input_gradient = nullptr;
  float *ready, *rows, *result_rows;
  float *plane, *other_plane;
  float* tiles;
  std::vector<MixTerm> terms;
  std::vector<Inflow> inflows;
  std::vector<float> coefficients, bias, value_scale, constant;
  const float* centre = nullptr;

  // Taps as offsets into an image whose rows are `row` numbers and pixels `c` numbers apart, or against them (sign =
  // -1). Good until the next call.
  Taps tap_offsets(const std::vector<TapAt>& taps, ptrdiff_t row, ptrdiff_t c, int sign = 1);

 private:
  std::vector<ptrdiff_t> offsets_;
  Block block_;
};

}  // namespace nascent::kernels
