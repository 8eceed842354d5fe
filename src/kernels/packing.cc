#include "nascent/kernels/packing.h"

#include <algorithm>

namespace nascent::kernels {

namespace {

size_t aligned(size_t floats) { return (floats + 15) / 16 * 16; }

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
    const size_t taps = packing.winograd ? 3 * kWinogradPoints : unit.dense.size();
    packing.depthwise = take(floats_, depthwise_floats(unit));
    packing.dense = take(floats_, dense_floats(taps, ci, co));
    if (backward) packing.transposed = take(floats_, dense_floats(taps, co, ci));
    gradient.depthwise = take(gradient_floats_, unit.depthwise.size() * in_padded);
    gradient.dense = take(gradient_floats_, taps * ci * out_padded);
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

// Each row of the kernel at the six points. The backward pass convolves with the kernel turned around.
void Packing::pack_winograd(int index, const float* from, float* block) const {
  const Unit& unit = program_.units[index];
  const UnitPacking& at = units_[index];
  const int ci = inputs(unit), co = outputs(unit);
  const size_t cip = padded(ci), cop = padded(co);
  std::fill_n(block + at.dense, 3 * kWinogradPoints * ci * cop, 0.0f);
  if (backward_) std::fill_n(block + at.transposed, 3 * kWinogradPoints * co * cip, 0.0f);
  for (int o = 0; o < co; ++o) {
    for (int i = 0; i < ci; ++i, from += 9) {
      for (int m = 0; m < kWinogradPoints; ++m) {
        const auto& g = kWinogradWeights[m];
        for (int y = 0; y < 3; ++y) {
          const float* w = from + 3 * y;
          const float* turned = from + 3 * (2 - y);
          block[at.dense + ((m * 3 + y) * ci + i) * cop + o] = g[0] * w[0] + g[1] * w[1] + g[2] * w[2];
          if (backward_)
            block[at.transposed + ((m * 3 + y) * co + o) * cip + i] =
                g[0] * turned[2] + g[1] * turned[1] + g[2] * turned[0];
        }
      }
    }
  }
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
  if (points && units_[index].winograd) {
    for (int o = 0; o < co; ++o) {
      for (int i = 0; i < ci; ++i, to += 9) {
        std::fill_n(to, 9, 0.0f);
        for (int m = 0; m < kWinogradPoints; ++m) {
          for (int y = 0; y < 3; ++y) {
            const float at_point = sum(gradients_[index].dense + ((m * 3 + y) * ci + i) * cop + o);
            for (int x = 0; x < 3; ++x) to[3 * y + x] += kWinogradWeights[m][x] * at_point;
          }
        }
      }
    }
    return;
  }
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
