#include "nascent/kernels/packing.h"

#include <algorithm>
#include <array>

namespace nascent::kernels {

namespace {

size_t aligned(size_t floats) { return (floats + 15) / 16 * 16; }

// Of three lines, one behind the other.
void weighted_sum(const std::array<float, 3>& weights, const float* __restrict lines, size_t count,
                  float* __restrict to) {
  for (size_t i = 0; i < count; ++i)
    to[i] = weights[0] * lines[i] + weights[1] * lines[count + i] + weights[2] * lines[2 * count + i];
}

// Of a factorised reduce's two taps, the one that makes output `o`.
int tap_of_half(int o, int outputs) { return o < outputs / 2 ? 0 : 1; }

}  // namespace

Packing::Packing(const CellProgram& program, bool backward) : program_(program), backward_(backward) {
  const auto take = [](size_t& total, size_t floats) {
    const size_t offset = total;
    total += aligned(floats);
    return offset;
  };
  for (const Unit& unit : program.units) {
    const int ci = inputs(unit), co = outputs(unit);
    const size_t in_padded = padded(ci), out_padded = padded(co);
    UnitPacking packing, gradient;
    packing.winograd = uses_winograd(program, unit);
    const size_t taps = packing.winograd ? kWinogradPoints * kWinogradPoints : unit.dense.size();
    const size_t gradient_taps = packing.winograd ? 3 * kWinogradPoints : unit.dense.size();
    packing.depthwise = take(floats_, depthwise_floats(unit));
    packing.dense = take(floats_, dense_floats(taps, ci, co));
    if (backward) packing.transposed = take(floats_, dense_floats(taps, co, ci));
    gradient.depthwise = take(gradient_floats_, unit.depthwise.size() * in_padded);
    gradient.dense = take(gradient_floats_, gradient_taps * ci * out_padded);
    units_.push_back(packing);
    gradients_.push_back(gradient);
  }
}

ptrdiff_t Packing::tap_numbers(int inputs, int outputs) const {
  return program_.precision == Precision::single ? static_cast<ptrdiff_t>(inputs) * padded(outputs)
                                                 : pairs_in_tap(inputs, outputs);
}

size_t Packing::depthwise_floats(const Unit& unit) const {
  const size_t channels = padded(inputs(unit));
  if (program_.precision == Precision::single) return unit.depthwise.size() * channels;
  const Grid grid = grid_of(unit);
  return unit.depthwise.empty() ? 0 : paired_rows(grid.height) * grid.width * channels;
}

size_t Packing::dense_floats(size_t taps, int inputs, int outputs) const {
  return floats_for(taps * tap_numbers(inputs, outputs), program_.precision);
}

int Packing::inputs(const Unit& unit) const { return unit.input.channels; }
int Packing::outputs(const Unit& unit) const { return program_.values[unit.output].channels; }

void Packing::pack(int index, const std::vector<const float*>& parameters, const float* scale, float* block) const {
  const Unit& unit = program_.units[index];
  const UnitPacking& at = units_[index];
  const int ci = inputs(unit), co = outputs(unit);
  if (!unit.depthwise.empty()) pack_depthwise(unit, parameters[unit.depthwise_weight], block + at.depthwise);
  const size_t taps = unit.dense.size();
  if (taps == 0) return;
  if (at.winograd) return pack_winograd(index, parameters[unit.dense_weight], block);
  const float* from = parameters[unit.dense_weight];
  float* dense = block + at.dense;
  float* transposed = backward_ ? block + at.transposed : nullptr;
  std::fill_n(dense, dense_floats(taps, ci, co), 0.0f);
  if (transposed) std::fill_n(transposed, dense_floats(taps, co, ci), 0.0f);
  const auto put = [&](float* to, size_t tap, int input, int output, int inputs, int outputs, float weight) {
    const ptrdiff_t first = static_cast<ptrdiff_t>(tap) * tap_numbers(inputs, outputs);
    if (program_.precision == Precision::single) {
      to[first + static_cast<ptrdiff_t>(input) * padded(outputs) + output] = weight;
    } else {
      const ptrdiff_t pair = static_cast<ptrdiff_t>(input / 2) * paired_outputs(outputs) + output;
      reinterpret_cast<Bf16*>(to)[first + 2 * pair + input % 2] = rounded(weight);
    }
  };
  for (size_t t = 0; t < taps; ++t) {
    for (int o = 0; o < co; ++o) {
      if (unit.halves && tap_of_half(o, co) != static_cast<int>(t)) continue;
      for (int i = 0; i < ci; ++i) {
        const float w =
            unit.halves ? from[static_cast<size_t>(o) * ci + i] : from[(static_cast<size_t>(o) * ci + i) * taps + t];
        const float weight = scale ? scale[o] * w : w;
        put(dense, t, i, o, ci, co, weight);
        if (transposed) put(transposed, t, o, i, co, ci, weight);
      }
    }
  }
}

void Packing::pack_depthwise(const Unit& unit, const float* from, float* to) const {
  const size_t taps = unit.depthwise.size(), cip = padded(inputs(unit));
  const int ci = inputs(unit);
  std::fill_n(to, depthwise_floats(unit), 0.0f);
  const bool single = program_.precision == Precision::single;
  const size_t width = grid_of(unit).width, first = kZeroRows * width;
  auto* pairs = reinterpret_cast<Bf16*>(to);
  for (int c = 0; c < ci; ++c) {
    for (size_t t = 0; t < taps; ++t) {
      const float weight = from[c * taps + t];
      if (single) {
        to[t * cip + c] = weight;
      } else {
        pairs[2 * ((first + t) * cip + c)] = pairs[2 * ((first + t - width) * cip + c) + 1] = rounded(weight);
      }
    }
  }
}

// The kernels at the points. The backward pass convolves with kernels that are turned around.
void Packing::pack_winograd(int index, const float* from, float* block) const {
  const Unit& unit = program_.units[index];
  const int ci = inputs(unit), co = outputs(unit);
  constexpr size_t kPoints = kWinogradPoints;
  // Line by line, as weights of one line lie together: those of one point lie a multiple of a page from those of
  // others.
  const auto put = [](int lines, int length, const auto& weight, float* to) {
    const size_t count = padded(length);
    std::vector<float> taps(9 * count, 0.0f), at_rows(3 * kPoints * count);
    for (int line = 0; line < lines; ++line) {
      for (size_t i = 0; i < static_cast<size_t>(length); ++i) {
        for (size_t t = 0; t < 9; ++t) taps[t * count + i] = weight(line, i, t);
      }
      for (size_t m = 0; m < kPoints; ++m) {
        float* rows = at_rows.data() + 3 * m * count;
        for (size_t y = 0; y < 3; ++y)
          weighted_sum(kWinogradWeights[m], taps.data() + 3 * y * count, count, rows + y * count);
        for (size_t n = 0; n < kPoints; ++n)
          weighted_sum(kWinogradWeights[n], rows, count, to + ((m * kPoints + n) * lines + line) * count);
      }
    }
  };
  const auto kernel = [&](size_t output, size_t input) { return from + (output * ci + input) * 9; };
  put(
      ci, co, [&](size_t i, size_t o, size_t t) { return kernel(o, i)[t]; }, block + units_[index].dense);
  if (!backward_) return;
  put(
      co, ci, [&](size_t o, size_t i, size_t t) { return kernel(o, i)[8 - t]; }, block + units_[index].transposed);
}

std::vector<Packing::GradientSpan> Packing::gradient_spans(int index) const {
  const Unit& unit = program_.units[index];
  const size_t ci = inputs(unit), co = outputs(unit), cip = padded(inputs(unit)), cop = padded(outputs(unit));
  std::vector<GradientSpan> spans;
  const auto add = [&](int parameter, size_t first, size_t count) {
    const bool follows =
        !spans.empty() && spans.back().parameter == parameter && spans.back().first + spans.back().count == first;
    if (follows) {
      spans.back().count += count;
    } else {
      spans.push_back({parameter, first, count});
    }
  };
  for (size_t t = 0; t < unit.depthwise.size(); ++t)
    add(unit.depthwise_weight, gradients_[index].depthwise + t * cip, ci);
  const size_t half = co / 2;
  for (size_t t = 0; t < unit.dense.size(); ++t) {
    const size_t first = unit.halves && t > 0 ? half : 0, last = unit.halves && t == 0 ? half : co;
    for (size_t i = 0; i < ci; ++i)
      add(unit.dense_weight, gradients_[index].dense + (t * ci + i) * cop + first, last - first);
  }
  return spans;
}

// From the points of rows, line by line like pack_winograd().
void Packing::unpack_winograd(int index, const float* gradients, int groups, float* to) const {
  const Unit& unit = program_.units[index];
  const size_t ci = inputs(unit), co = outputs(unit), cop = padded(outputs(unit));
  std::vector<float> sums(co), kernels(9 * co);
  for (size_t i = 0; i < ci; ++i) {
    std::fill(kernels.begin(), kernels.end(), 0.0f);
    for (size_t m = 0; m < kWinogradPoints; ++m) {
      for (size_t y = 0; y < 3; ++y) {
        const float* line = gradients + gradients_[index].dense + ((m * 3 + y) * ci + i) * cop;
        std::fill(sums.begin(), sums.end(), 0.0f);
        for (int g = 0; g < groups; ++g, line += gradient_floats_) {
          for (size_t o = 0; o < co; ++o) sums[o] += line[o];
        }
        for (size_t x = 0; x < 3; ++x) {
          float* taps = kernels.data() + (3 * y + x) * co;
          for (size_t o = 0; o < co; ++o) taps[o] += kWinogradWeights[m][x] * sums[o];
        }
      }
    }
    for (size_t o = 0; o < co; ++o) {
      for (size_t t = 0; t < 9; ++t) to[(o * ci + i) * 9 + t] = kernels[t * co + o];
    }
  }
}

void Packing::unpack(int index, const float* gradients, int groups, bool points,
                     const std::vector<float*>& parameters) const {
  const Unit& unit = program_.units[index];
  const int ci = inputs(unit), co = outputs(unit);
  const size_t cip = padded(ci), cop = padded(co);
  const auto sum = [&](size_t offset) {
    float total = 0;
    for (int g = 0; g < groups; ++g) total += gradients[g * gradient_floats_ + offset];
    return total;
  };
  if (const size_t taps = unit.depthwise.size(); taps > 0 && parameters[unit.depthwise_weight]) {
    float* to = parameters[unit.depthwise_weight];
    for (int c = 0; c < ci; ++c) {
      for (size_t t = 0; t < taps; ++t) to[c * taps + t] = sum(gradients_[index].depthwise + t * cip + c);
    }
  }
  const size_t taps = unit.dense.size();
  if (taps == 0 || !parameters[unit.dense_weight]) return;
  float* to = parameters[unit.dense_weight];
  if (points && units_[index].winograd) return unpack_winograd(index, gradients, groups, to);
  for (size_t t = 0; t < taps; ++t) {
    for (int i = 0; i < ci; ++i) {
      for (int o = 0; o < co; ++o) {
        if (unit.halves && tap_of_half(o, co) != static_cast<int>(t)) continue;
        const size_t place =
            unit.halves ? static_cast<size_t>(o) * ci + i : (static_cast<size_t>(o) * ci + i) * taps + t;
        to[place] = sum(gradients_[index].dense + (t * ci + i) * cop + o);
      }
    }
  }
}

}  // namespace nascent::kernels
