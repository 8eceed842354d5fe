#include "nascent/kernels/scratch.h"

#include <algorithm>
#include <utility>

#include "nascent/kernels/winograd.h"

namespace nascent::kernels {

ScratchSizes scratch_sizes(const CellProgram& program, const std::vector<Halo>& halos, bool backward) {
  ScratchSizes sizes;
  const auto with_halo = [&](const ValueShape& shape, int channels, const Halo& halo) {
    return static_cast<size_t>(shape.height + 2 * halo.h) * (shape.width + 2 * halo.w) * padded(channels);
  };
  for (const ValueShape& value : program.values) {
    sizes.plane = std::max(sizes.plane, with_halo(value, value.channels, {}));
  }
  for (size_t i = 0; i < program.units.size(); ++i) {
    const Unit& unit = program.units[i];
    if (unit.kind != Unit::Kind::convolution) continue;
    const ValueShape &in = program.values[unit.input.value], &out = program.values[unit.output];
    const int widest = std::max(unit.input.channels, out.channels);
    const int rows = rows_at_once(out.width, padded(widest), program.precision);
    // Without a halo the forward pass makes some rows of the input ready at a time.
    const bool by_rows = halos[i].h == 0 && halos[i].w == 0;
    const ValueShape some = {in.channels, std::min(in.height, rows * unit.stride_h), in.width};
    if (by_rows) sizes.ready = std::max(sizes.ready, with_halo(some, unit.input.channels, {}));
    if (backward || !by_rows) sizes.input = std::max(sizes.input, with_halo(in, unit.input.channels, halos[i]));
    if (backward) sizes.between = std::max(sizes.between, with_halo(out, widest, halos[i]));
    // A depthwise convolution makes rows of the output's width with the input's channels.
    sizes.rows = std::max(sizes.rows, static_cast<size_t>(rows) * out.width * padded(widest));
    if (!uses_winograd(program, unit)) continue;
    sizes.rows = std::max(sizes.rows, static_cast<size_t>(kWinogradRows) * out.width * padded(out.channels));
    sizes.tiles = std::max(sizes.tiles, winograd_floats(out.width, unit.input.channels, out.channels));
  }
  return sizes;
}

Scratch::Scratch(const ScratchSizes& sizes, bool backward) {
  constexpr size_t kSlack = 64;  // vectors may be read a little past the end
  size_t total = 0;
  std::vector<std::pair<float**, size_t>> parts;
  const auto want = [&](float*& part, size_t floats) {
    parts.emplace_back(&part, total);
    total += (floats + kSlack + 15) / 16 * 16;
  };
  want(held[0].frame.data, sizes.input);
  want(ready, sizes.ready);
  want(rows, sizes.rows);
  want(result_rows, sizes.rows);
  want(plane, sizes.plane);
  want(other_plane, sizes.plane);
  want(tiles, sizes.tiles);
  if (backward) {
    want(held[1].frame.data, sizes.input);
    want(input_gradient, sizes.input);
    want(between.data, sizes.between);
  }
  block_ = Block(total);
  std::fill_n(block_.data(), total, 0.0f);
  for (const auto& [part, offset] : parts) *part = block_.data() + offset;
}

Rows<Stored> Frame::around(const ValueShape& shape, int c, const Halo& halo, Precision precision) {
  const ptrdiff_t side = static_cast<ptrdiff_t>(halo.w) * c, line = static_cast<ptrdiff_t>(shape.width) * c;
  const ptrdiff_t row = line + 2 * side;
  const Numbers all(data, precision), first = all + (halo.h * row + side);
  const ValueShape stored = {c, shape.height, shape.width};
  if (stored == shape_ && halo == halo_ && precision == precision_) return {first, row};
  shape_ = stored;
  halo_ = halo;
  precision_ = precision;
  clear_numbers(all, halo.h * row);
  clear_numbers(all + (shape.height + halo.h) * row, halo.h * row);
  for (int y = 0; y < shape.height; ++y) {
    clear_numbers(first + (y * row - side), side);
    clear_numbers(first + (y * row + line), side);
  }
  return {first, row};
}

Taps Scratch::tap_offsets(const std::vector<TapAt>& taps, ptrdiff_t row, ptrdiff_t c, int sign) {
  offsets_.clear();
  for (const TapAt& tap : taps) offsets_.push_back(sign * (tap.dy * row + tap.dx * c));
  return {offsets_.data(), static_cast<int>(offsets_.size())};
}

}  // namespace nascent::kernels
