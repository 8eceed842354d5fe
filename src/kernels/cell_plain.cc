// Plain units in both passes: the batches that the caller's functions read and fill.
#include <algorithm>

#include "nascent/kernels/cell_backward.h"

namespace nascent::kernels {

namespace {

Batch batch_of(Numbers data, int images, const ValueShape& shape, int channels, ptrdiff_t pixel) {
  return {data, images, channels, shape.height, shape.width, pixel};
}

// The function leaves alone what is behind the true channels.
void clear_padding(const Batch& batch) {
  if (!batch.data || batch.channels == batch.pixel) return;
  clear_numbers(batch.data, static_cast<size_t>(batch.images) * batch.height * batch.width * batch.pixel);
}

}  // namespace

void CellRun::run_plain(int index) const {
  const Unit& unit = program_->units[index];
  const Read& read = unit.input;
  const Batch from = batch_of(value_[read.value] + read.first, call_.images, program_->values[read.value],
                              read.channels, pixel(read.value));
  const ValueShape& shape = program_->values[unit.output];
  const Batch to = batch_of(value_[unit.output], call_.images, shape, shape.channels, pixel(unit.output));
  clear_padding(to);
  call_.plain[unit.plain](from, to);
}

bool CellBackward::wants_parameters(const Unit& unit) const {
  return std::any_of(unit.parameters.begin(), unit.parameters.end(),
                     [&](int parameter) { return call_.parameters[parameter] != nullptr; });
}

bool CellBackward::wants_input(const Unit& unit) const {
  const int value = unit.input.value;
  return schedule_.phase[value] >= 0 && (value >= program_.inputs || call_.inputs[value]);
}

void CellBackward::run_plain(int index) {
  const Unit& unit = program_.units[index];
  const Read& read = unit.input;
  const int images = run_.call_.images;
  const ValueShape& shape = program_.values[unit.output];
  const Batch from = batch_of(between_[unit.output], images, shape, shape.channels, run_.channels(unit.output));
  const Batch to =
      batch_of(plain_input_[index], images, program_.values[read.value], read.channels, padded(read.channels));
  clear_padding(to);
  call_.plain[unit.plain](from, to);
}

void CellBackward::add_from_plain(int value, int n, float* gradient) {
  const size_t pixels = program_.values[value].pixels();
  for (const Reader& reader : readers_[value]) {
    if (reader.is_mix || !plain_input_[reader.index]) continue;
    const Read& read = program_.units[reader.index].input;
    const int c = padded(read.channels);
    kernels_.add_scaled({plain_input_[reader.index] + static_cast<ptrdiff_t>(n * pixels * c), c}, 1, pixels, c,
                        {gradient + read.first, run_.channels(value)});
  }
}

}  // namespace nascent::kernels
