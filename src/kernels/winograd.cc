#include "nascent/kernels/winograd.h"

#include <algorithm>

namespace nascent::kernels {

namespace {

// The three rows of the kernel, in an image of tiles.
struct RowTaps {
  explicit RowTaps(ptrdiff_t row) : offsets{0, row, 2 * row} {}
  operator Taps() const { return {offsets, 3}; }
  ptrdiff_t offsets[3];
};

size_t tile_floats(int rows, int width, int c) {
  return static_cast<size_t>(rows) * (width / kWinogradOutputs) * padded(c);
}

}  // namespace

bool uses_winograd(const CellProgram& program, const Unit& unit) {
  if (unit.kind != Unit::Kind::convolution || !unit.depthwise.empty() || unit.dense.size() != 9) return false;
  if (unit.stride_h != 1 || unit.stride_w != 1) return false;
  for (int t = 0; t < 9; ++t) {
    if (unit.dense[t].dy != t / 3 - 1 || unit.dense[t].dx != t % 3 - 1) return false;
  }
  return program.values[unit.output].width % kWinogradOutputs == 0;
}

size_t winograd_floats(int width, int ci, int co) {
  const int widest = std::max(ci, co);
  return kWinogradPoints * (tile_floats(kWinogradRows + 2, width, widest) + tile_floats(kWinogradRows, width, widest));
}

void winograd(const ImageKernels& kernels, Rows<const float> in, int ci, const float* weights, int rows, int width,
              int co, bool add, Rows<float> out, float* scratch) {
  const int tiles = width / kWinogradOutputs, cip = padded(ci), cop = padded(co);
  const RowTaps taps(static_cast<ptrdiff_t>(tiles) * cip);
  for (int y = 0; y < rows; y += kWinogradRows) {
    const int here = std::min(kWinogradRows, rows - y);
    const size_t in_plane = tile_floats(here + 2, width, ci), out_plane = tile_floats(here, width, co);
    float* sums = scratch + kWinogradPoints * in_plane;
    kernels.inputs_to_points(in.pixels + y * in.row, in.row, here + 2, tiles, cip, scratch);
    for (int m = 0; m < kWinogradPoints; ++m)
      kernels.dense(scratch + m * in_plane, taps, ci, weights + static_cast<ptrdiff_t>(m) * 3 * ci * cop, cip,
                    here * tiles, cop, {}, sums + m * out_plane, cop);
    kernels.points_to_outputs(sums, here, tiles, cop, add, out.pixels + y * out.row, out.row);
  }
}

void winograd_weights(const ImageKernels& kernels, Rows<const float> in, int ci, Rows<const float> out_gradient,
                      int rows, int width, int co, float* gradients, float* scratch) {
  const int tiles = width / kWinogradOutputs, cip = padded(ci), cop = padded(co);
  const RowTaps taps(static_cast<ptrdiff_t>(tiles) * cip);
  for (int y = 0; y < rows; y += kWinogradRows) {
    const int here = std::min(kWinogradRows, rows - y);
    const size_t in_plane = tile_floats(here + 2, width, ci), out_plane = tile_floats(here, width, co);
    float* points = scratch + kWinogradPoints * in_plane;
    kernels.inputs_to_points(in.pixels + y * in.row, in.row, here + 2, tiles, cip, scratch);
    kernels.gradients_to_points(out_gradient.pixels + y * out_gradient.row, out_gradient.row, here, tiles, cop, points);
    for (int m = 0; m < kWinogradPoints; ++m)
      kernels.dense_weights(scratch + m * in_plane, 0, taps, ci, cip, points + m * out_plane, 0, 1, here * tiles, cop,
                            gradients + static_cast<ptrdiff_t>(m) * 3 * ci * cop);
  }
}

}  // namespace nascent::kernels
