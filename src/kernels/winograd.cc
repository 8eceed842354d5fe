#include "nascent/kernels/winograd.h"

#include <algorithm>

#include "nascent/kernels/scratch.h"

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
  if (program.precision != Precision::single) return false;
  if (unit.kind != Unit::Kind::convolution || !unit.depthwise.empty() || unit.dense.size() != 9) return false;
  if (unit.stride_h != 1 || unit.stride_w != 1) return false;
  for (int t = 0; t < 9; ++t) {
    if (unit.dense[t].dy != t / 3 - 1 || unit.dense[t].dx != t % 3 - 1) return false;
  }
  const ValueShape& out = program.values[unit.output];
  return out.width % kWinogradOutputs == 0 && out.height % kWinogradOutputs == 0;
}

size_t winograd_floats(int width, int ci, int co) {
  const int widest = std::max(ci, co);
  // What comes in and what goes out, at the points of rows, and at those of columns of one of these.
  return kWinogradPoints * (tile_floats(kWinogradRows + 2, width, widest) + tile_floats(kWinogradRows, width, widest) +
                            2 * tile_floats(kWinogradRows / kWinogradOutputs, width, widest));
}

namespace {

// Some rows of outputs: the tiles that they are made from and consist of, at the points of rows.
struct Chunk {
  int y = 0;
  WinogradTiles in, out;
  float *in_points, *out_points;
  float* rest;  // of the scratch

  // Columns are taken to their points like rows: what lies in a row is one pixel.
  WinogradTiles columns_of(const WinogradTiles& rows) const {
    return {1, out.rows / kWinogradOutputs, rows.tiles * rows.c};
  }
};

template <class Body>
void for_chunks(const ImageKernels& kernels, const WinogradInput& input, Body body) {
  const int tiles = input.width / kWinogradOutputs;
  for (int y = 0; y < input.rows; y += kWinogradRows) {
    const int here = std::min(kWinogradRows, input.rows - y);
    const WinogradTiles in = {here + 2, tiles, padded(input.ci)}, out = {here, tiles, padded(input.co)};
    kernels.inputs_to_points({input.in.pixels + y * input.in.row, input.in.row}, in, input.scratch);
    float* out_points = input.scratch + kWinogradPoints * in.plane();
    body(Chunk{y, in, out, input.scratch, out_points, out_points + kWinogradPoints * out.plane()});
  }
}

}  // namespace

void winograd(const ImageKernels& kernels, const WinogradInput& input, const float* weights, bool add,
              Rows<float> out) {
  for_chunks(kernels, input, [&](const Chunk& chunk) {
    const WinogradTiles in = chunk.columns_of(chunk.in), columns = chunk.columns_of(chunk.out);
    float *points = chunk.rest, *products = points + kWinogradPoints * in.plane();
    for (int m = 0; m < kWinogradPoints; ++m) {
      kernels.inputs_to_points({chunk.in_points + m * chunk.in.plane(), 0}, in, points);
      for (int n = 0; n < kWinogradPoints; ++n)
        kernels.dense({.in = points + n * in.plane(),
                       .taps = kOneTap,
                       .step = chunk.in.c,
                       .ci = input.ci,
                       .weights = weights + static_cast<ptrdiff_t>(m * kWinogradPoints + n) * input.ci * chunk.out.c,
                       .pixels = columns.tiles * chunk.out.tiles,
                       .co = chunk.out.c,
                       .out = {products + n * columns.plane(), chunk.out.c}});
      kernels.points_to_outputs(products, columns, /*add=*/false, {chunk.out_points + m * chunk.out.plane(), 0});
    }
    kernels.points_to_outputs(chunk.out_points, chunk.out, add, {out.pixels + chunk.y * out.row, out.row});
  });
}

void winograd_weights(const ImageKernels& kernels, const WinogradInput& input, Rows<const float> gradient,
                      float* gradients) {
  for_chunks(kernels, input, [&](const Chunk& chunk) {
    const RowTaps taps(static_cast<ptrdiff_t>(chunk.in.tiles) * chunk.in.c);
    kernels.gradients_to_points({gradient.pixels + chunk.y * gradient.row, gradient.row}, chunk.out, chunk.out_points);
    for (int m = 0; m < kWinogradPoints; ++m)
      kernels.dense_weights({.pairs = {.in = {chunk.in_points + m * chunk.in.plane(), 0},
                                       .gradient = {chunk.out_points + m * chunk.out.plane(), 0},
                                       .rows = 1,
                                       .pixels = chunk.out.rows * chunk.out.tiles},
                             .taps = taps,
                             .step = chunk.in.c,
                             .ci = input.ci,
                             .co = chunk.out.c,
                             .gradients = gradients + static_cast<ptrdiff_t>(m) * 3 * input.ci * chunk.out.c});
  });
}

}  // namespace nascent::kernels
