// Where the values of a CellRun lie.
#include <algorithm>

#include "nascent/kernels/cell_run.h"
#include "nascent/kernels/parallel.h"

namespace nascent::kernels {

namespace {

// Numbers behind a value that vectors may read.
constexpr size_t kSlack = 64;

}  // namespace

// Every value has its place for the whole batch if it is needed again; else only as long as it is read, and where
// everything is one phase and nothing comes of it but states, only one image per thread.
void CellRun::place_values() {
  const size_t count = program_->values.size();
  const bool single = schedule_.phases.size() <= 1;
  const int last = static_cast<int>(schedule_.phases.size());
  std::vector<Resident> kept(count), passing(count);
  value_.assign(count, nullptr);
  image_stride_.assign(count, 0);
  thread_stride_.assign(count, 0);
  for (size_t v = 0; v < count; ++v) pixel_.push_back(channels(static_cast<int>(v)));
  moments_offset_.assign(count, 0);
  size_t moments = 0;
  place_in_output();
  for (size_t v = program_->inputs; v < count; ++v) {
    const size_t numbers = image_numbers(static_cast<int>(v));
    const bool keep = kept_[v], per_thread = folds_ && single && !keep && !divides_images_;
    moments_offset_[v] = moments;
    if (normalised_[v]) moments += size_t{3} * channels(static_cast<int>(v)) * call_.images;
    if (in_output_ && is_output(static_cast<int>(v))) continue;
    const size_t all = numbers * (per_thread ? call_.threads : call_.images) + kSlack;
    (keep ? kept : passing)[v] = {floats_of(all), schedule_.phase[v], keep ? last : schedule_.last[v]};
    (per_thread ? thread_stride_ : image_stride_)[v] = numbers;
  }
  const MemoryPlan plan = plan_memory(kept), passing_plan = plan_memory(passing);
  values_ = Block(plan.floats);
  passing_ = Block(passing_plan.floats);
  // What is read again only in a later phase would push everything else out of the cache, and be read before it is
  // written.
  constexpr size_t kTooMuchForCaches = size_t{8} << 20;
  streams_ = !single && plan.floats + passing_plan.floats > kTooMuchForCaches;
  for (size_t v = program_->inputs; v < count; ++v) {
    if (value_[v]) continue;
    const bool passes = passing[v].floats > 0;
    float* place = passes ? passing_.data() + passing_plan.offsets[v] : values_.data() + plan.offsets[v];
    value_[v] = stored(place);
    const size_t end = (passes ? passing : kept)[v].floats, slack = floats_of(kSlack);
    std::fill_n(place + end - slack, slack, 0.0f);
  }
  if (call_.training) moments_ = Block(moments);
}

bool CellRun::is_output(int value) const {
  return std::count(program_->outputs.begin(), program_->outputs.end(), value) > 0;
}

// A state lies in the cell's output itself where that can be read and written in whole vectors. This saves a copy; but
// for a backward pass, which reads its states again and again, it is faster to have each of them together.
void CellRun::place_in_output() {
  const std::vector<int>& outputs = program_->outputs;
  const auto readers = readers_of(*program_);
  const auto fits = [&](int value) {
    const auto within = [&](const Reader& reader) {
      const Read& read = read_of(*program_, reader);
      return read.first + padded(read.channels) <= channels(value);
    };
    return program_->values[value].channels == channels(value) &&
           std::count(outputs.begin(), outputs.end(), value) == 1 &&
           std::all_of(readers[value].begin(), readers[value].end(), within);
  };
  in_output_ = !call_.keep && std::all_of(outputs.begin(), outputs.end(), fits);
  Numbers place = output_;
  for (const int value : outputs) {
    if (!in_output_) return;
    value_[value] = place;
    pixel_[value] = program_->output_channels();
    image_stride_[value] = program_->values[value].pixels() * pixel_[value];
    thread_stride_[value] = 0;
    place += program_->values[value].channels;
  }
}

// Inputs are read where they are if whole vectors can be, and they are stored as the others.
void CellRun::place_inputs() {
  std::vector<size_t> offsets;
  size_t numbers = 0;
  const auto readers = readers_of(*program_);
  std::vector<bool> import(program_->inputs);
  for (int v = 0; v < program_->inputs; ++v) {
    import[v] = program_->values[v].channels != channels(v) || call_.inputs[v].precision() != program_->precision;
    for (const Reader& reader : readers[v]) {
      const Read& read = read_of(*program_, reader);
      if (read.channels != padded(read.channels)) import[v] = true;
    }
    offsets.push_back(numbers);
    image_stride_[v] = image_numbers(v);
    if (import[v]) numbers += image_stride_[v] * call_.images + kSlack;
  }
  if (numbers > 0) {
    imported_ = Block(floats_of(numbers));
    clear_numbers(stored(imported_.data()) + static_cast<ptrdiff_t>(numbers - kSlack), kSlack);
  }
  for (int v = 0; v < program_->inputs; ++v) {
    if (!import[v]) {
      value_[v] = stored(const_cast<float*>(call_.inputs[v].as<float>()));  // never written
      continue;
    }
    value_[v] = stored(imported_.data()) + static_cast<ptrdiff_t>(offsets[v]);
    const ValueShape& shape = program_->values[v];
    const ConstNumbers from = call_.inputs[v];
    for_each(call_.images, call_.threads, [&](int n, int) {
      kernels_.pad({.x = {from + n * shape.pixels() * shape.channels, shape.channels},
                    .channels = shape.channels,
                    .h = shape.height,
                    .w = shape.width,
                    .out = {value_[v] + n * image_stride_[v], static_cast<ptrdiff_t>(shape.width) * channels(v)},
                    .c = channels(v)});
    });
  }
}

}  // namespace nascent::kernels
