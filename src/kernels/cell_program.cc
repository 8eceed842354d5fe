#include "nascent/kernels/cell_program.h"

#include <algorithm>
#include <stdexcept>

namespace nascent::kernels {

int CellProgram::add_value(const ValueShape& shape) {
  values.push_back(shape);
  return static_cast<int>(values.size()) - 1;
}

void CellProgram::add(Unit unit) {
  steps.push_back({.is_mix = false, .index = static_cast<int>(units.size())});
  units.push_back(std::move(unit));
}

void CellProgram::add(Mix mix) {
  steps.push_back({.is_mix = true, .index = static_cast<int>(mixes.size())});
  mixes.push_back(std::move(mix));
}

int CellProgram::output_channels() const {
  int sum = 0;
  for (const int value : outputs) sum += values[value].channels;
  return sum;
}

namespace {

void check_readers(const CellProgram& program, const std::vector<Reader>& readers) {
  const Read* normalised = nullptr;
  for (const Reader& reader : readers) {
    if (!reader.is_mix && program.units[reader.index].input.norm >= 0) normalised = &program.units[reader.index].input;
  }
  if (!normalised) return;
  if (normalised->first != 0 || normalised->channels != program.values[normalised->value].channels)
    throw std::logic_error("a unit reads some channels of a value normalised, and not the others");
  for (const Reader& reader : readers) {
    if (reader.is_mix || program.units[reader.index].input != *normalised)
      throw std::logic_error("a value that is read normalised by a unit has other readers");
  }
}

void check_plain_units(const CellProgram& program) {
  for (const Unit& unit : program.units) {
    if (unit.kind != Unit::Kind::plain) continue;
    const bool normalised = std::any_of(program.norms.begin(), program.norms.end(),
                                        [&](const Norm& norm) { return norm.value == unit.output; });
    if (normalised || unit.input.norm >= 0 || unit.input.relu)
      throw std::logic_error("what a plain unit reads or makes is normalised or rectified by the engine");
  }
}

}  // namespace

std::vector<std::vector<Reader>> readers_of(const CellProgram& program) {
  std::vector<std::vector<Reader>> readers(program.values.size());
  for (const Step& step : program.steps) {
    if (!step.is_mix) {
      readers[program.units[step.index].input.value].push_back({.index = step.index});
      continue;
    }
    const Mix& mix = program.mixes[step.index];
    for (size_t t = 0; t < mix.terms.size(); ++t)
      readers[mix.terms[t].read.value].push_back({.is_mix = true, .index = step.index, .term = static_cast<int>(t)});
    for (size_t t = 0; t < mix.bypass.size(); ++t)
      readers[mix.bypass[t].read.value].push_back(
          {.is_mix = true, .is_bypass = true, .index = step.index, .term = static_cast<int>(t)});
  }
  for (const auto& of_value : readers) check_readers(program, of_value);
  check_plain_units(program);
  return readers;
}

const Read& read_of(const CellProgram& program, const Reader& reader) {
  if (!reader.is_mix) return program.units[reader.index].input;
  const Mix& mix = program.mixes[reader.index];
  return (reader.is_bypass ? mix.bypass : mix.terms)[reader.term].read;
}

Halo halo_of(const CellProgram& program, const Unit& unit) {
  const ValueShape &in = program.values[unit.input.value], &out = program.values[unit.output];
  Halo halo;
  for (const auto* taps : {&unit.depthwise, &unit.dense}) {
    // A dense convolution behind a depthwise one reads what that made, not the input.
    if (taps == &unit.dense && !unit.depthwise.empty()) continue;
    for (const TapAt& tap : *taps) {
      halo.h = std::max({halo.h, -tap.dy, (out.height - 1) * unit.stride_h + tap.dy - (in.height - 1)});
      halo.w = std::max({halo.w, -tap.dx, (out.width - 1) * unit.stride_w + tap.dx - (in.width - 1)});
    }
  }
  return halo;
}

Grid grid_of(const Unit& unit) {
  const std::vector<TapAt>& taps = unit.depthwise;
  Grid grid{.stride_h = unit.stride_h, .stride_w = unit.stride_w};
  if (taps.empty()) return grid;
  const auto row_end = std::find_if(taps.begin(), taps.end(), [&](const TapAt& tap) { return tap.dy != taps[0].dy; });
  grid.width = static_cast<int>(row_end - taps.begin());
  grid.height = static_cast<int>(taps.size()) / grid.width;
  if (grid.width > 1) {
    grid.dilation = taps[1].dx - taps[0].dx;
  } else if (grid.height > 1) {
    grid.dilation = taps[1].dy - taps[0].dy;
  }
  return grid;
}

double multiply_adds(const CellProgram& program) {
  double sum = 0;
  for (const Unit& unit : program.units) {
    const ValueShape& out = program.values[unit.output];
    const double per_pixel =
        static_cast<double>(unit.depthwise.size()) * unit.input.channels +
        static_cast<double>(unit.dense.size()) * unit.input.channels * out.channels / (unit.halves ? 2 : 1);
    sum += per_pixel * static_cast<double>(out.pixels());
  }
  return sum;
}

}  // namespace nascent::kernels
