#include "nascent/kernels/cell_backward.h"

#include <algorithm>

#include "nascent/kernels/parallel.h"
#include "nascent/kernels/scratch.h"

namespace nascent::kernels {

void CellRun::backward(const BackwardCall& call) { CellBackward(*this, call).run(); }

CellBackward::CellBackward(CellRun& run, const BackwardCall& call)
    : run_(run),
      call_(call),
      program_(*run.program_),
      kernels_(run.kernels_),
      readers_(readers_of(program_)),
      mix_of_(program_.values.size(), -1),
      plain_of_(program_.values.size(), -1),
      apart_(program_.values.size(), false),
      lone_(program_.values.size(), false),
      norms_(program_.norms.size()) {
  for (size_t m = 0; m < program_.mixes.size(); ++m) mix_of_[program_.mixes[m].output] = static_cast<int>(m);
  for (size_t u = 0; u < program_.units.size(); ++u) {
    const Unit& unit = program_.units[u];
    if (unit.kind == Unit::Kind::plain) plain_of_[unit.output] = static_cast<int>(u);
    for (const int weight : {unit.depthwise_weight, unit.dense_weight})
      wants_weights_ |= weight >= 0 && call.parameters[weight];
  }
  for (size_t v = 0; v < program_.values.size(); ++v) {
    for (const Reader& reader : readers_[v]) {
      const Read& read = read_of(program_, reader);
      apart_[v] = apart_[v] || read.first + padded(read.channels) > run_.channels(static_cast<int>(v));
    }
    lone_[v] = is_lone(static_cast<int>(v));
  }
  for (const Norm& norm : program_.norms)
    wants_sums_ |= norm.weight >= 0 && (call.parameters[norm.weight] || call.parameters[norm.bias]);
  wants_sums_ |= run.call_.training || call.weights;
  schedule_ = schedule_backward(program_, readers_, values_to_visit(), run_.remade_, run.call_.training);
  const bool plain = std::any_of(plain_of_.begin(), plain_of_.end(), [](int unit) { return unit >= 0; });
  divides_images_ = run.divides_images_ && !call.samples;
  single_ = schedule_.phases.size() <= 1 && !plain && !divides_images_;
  int widest = 0;
  for (size_t v = 0; v < program_.values.size(); ++v) widest = std::max(widest, run_.channels(static_cast<int>(v)));
  ones_.assign(widest, 1.0f);
  zeros_.assign(widest, 0.0f);
  // Four groups per thread, so that a slow core can leave some to the other.
  groups_ = std::min(run.call_.images, 4 * run.call_.threads);
  place_gradients();
  if (!call.samples) return;
  call.samples->squares.assign(program_.parameters.size() * run.call_.images, 0.0);
  call.samples->deviations.assign(program_.parameters.size(), 0.0);
  group_deviations_.assign(groups_, call.samples->deviations);
  for (size_t u = 0; u < program_.units.size(); ++u) {
    for (const Packing::GradientSpan& span : run.packing_.gradient_spans(static_cast<int>(u))) {
      if (call.parameters[span.parameter]) spans_.push_back(span);
    }
  }
}

bool CellBackward::is_lone(int value) const {
  const std::vector<Reader>& readers = readers_[value];
  if (readers.empty() || std::count(program_.outputs.begin(), program_.outputs.end(), value) > 0) return false;
  const Read& read = read_of(program_, readers.front());
  if (read.first != 0 || padded(read.channels) != run_.channels(value)) return false;
  return std::all_of(readers.begin(), readers.end(), [&](const Reader& reader) {
    return !reader.is_mix && program_.units[reader.index].kind == Unit::Kind::convolution &&
           program_.units[reader.index].input == read;
  });
}

// Walks from the inputs: what depends on nothing that wants a gradient is left out, apart from the states, whose sums
// give the gradients of weights and norms.
std::vector<bool> CellBackward::values_to_visit() const {
  std::vector<bool> visit(program_.values.size(), false);
  for (int v = 0; v < program_.inputs; ++v) visit[v] = call_.inputs[v] || wants_weights_;
  for (const Step& step : program_.steps) {
    if (step.is_mix) {
      visit[program_.mixes[step.index].output] = true;
      continue;
    }
    const Unit& unit = program_.units[step.index];
    if (unit.kind == Unit::Kind::plain) {
      visit[unit.output] = visit[unit.input.value] || wants_parameters(unit);
      continue;
    }
    const auto& readers = readers_[unit.output];
    const bool read_by_unit = std::any_of(readers.begin(), readers.end(), [](const Reader& r) { return !r.is_mix; });
    visit[unit.output] = read_by_unit && visit[unit.input.value];
  }
  return visit;
}

int CellBackward::plane_channels(int mix, bool bypass) const {
  const Mix& it = program_.mixes[mix];
  const int all = program_.values[it.output].channels, mixed = all / it.partial;
  return padded(bypass ? all - mixed : mixed);
}

Numbers CellBackward::plane(int mix, bool bypass, int slot) const {
  const size_t pixels = program_.values[program_.mixes[mix].output].pixels();
  return (bypass ? bypass_ : main_)[mix] + slot * pixels * plane_channels(mix, bypass);
}

void CellBackward::place_gradients() {
  const int images = run_.call_.images;
  std::vector<Resident> residents;
  std::vector<Numbers*> places;
  size_t sums = 0;
  main_.assign(program_.mixes.size(), nullptr);
  bypass_ = main_;
  between_.assign(program_.values.size(), nullptr);
  main_sums_.assign(program_.mixes.size(), 0);
  bypass_sums_ = main_sums_;
  between_sums_.assign(program_.values.size(), 0);
  // The gradient of a value is needed until what it was computed from has been visited.
  const auto visited = [&](int value) { return std::max(schedule_.phase[value], 0); };
  const auto maker_input = [&](int value) {
    const int unit = run_.maker_[value];
    return unit < 0 ? value : program_.units[unit].input.value;
  };
  const auto place = [&](Numbers& to, size_t numbers, int first, int last) {
    residents.push_back({run_.floats_of(numbers * (single_ ? run_.call_.threads : images) + 64), first, last});
    places.push_back(&to);
  };
  for (size_t m = 0; m < program_.mixes.size(); ++m) {
    const Mix& mix = program_.mixes[m];
    const size_t pixels = program_.values[mix.output].pixels();
    const int first = visited(mix.output);
    int last = first;
    for (const auto* terms : {&mix.terms, &mix.bypass}) {
      for (const Term& term : *terms)
        last = std::max({last, visited(term.read.value), visited(maker_input(term.read.value))});
    }
    for (const bool bypass : {false, true}) {
      if (bypass && mix.partial == 1) continue;
      const int c = plane_channels(static_cast<int>(m), bypass);
      place((bypass ? bypass_ : main_)[m], pixels * c, first, last);
      (bypass ? bypass_sums_ : main_sums_)[m] = sums;
      sums += (2 * (bypass ? mix.bypass : mix.terms).size() + 1) * c * images;
    }
  }
  for (size_t v = program_.inputs; v < program_.values.size(); ++v) {
    if (schedule_.phase[v] < 0 || mix_of_[v] >= 0) continue;
    const int value = static_cast<int>(v);
    const int last = std::max(visited(value), visited(maker_input(value)));
    place(between_[v], run_.image_numbers(value), visited(value), last);
    between_sums_[v] = sums;
    sums += size_t{2} * run_.channels(value) * images;
  }
  for (size_t v = 0; v < program_.values.size(); ++v) {
    const auto& [first, last] = schedule_.needed[v];
    if (last < 0) continue;
    const size_t numbers = run_.image_numbers(static_cast<int>(v));
    place(run_.value_[v], numbers, first, last);
    run_.image_stride_[v] = single_ ? 0 : numbers;
    run_.thread_stride_[v] = single_ ? numbers : 0;
  }
  plain_input_.assign(program_.units.size(), nullptr);
  for (size_t u = 0; u < program_.units.size(); ++u) {
    const Unit& unit = program_.units[u];
    if (unit.kind != Unit::Kind::plain || !wants_input(unit)) continue;
    const size_t pixels = program_.values[unit.input.value].pixels();
    place(plain_input_[u], pixels * padded(unit.input.channels), visited(unit.output), visited(unit.input.value));
  }
  const MemoryPlan plan = plan_memory(residents);
  gradients_ = Block(plan.floats);
  for (size_t i = 0; i < places.size(); ++i) *places[i] = run_.stored(gradients_.data() + plan.offsets[i]);
  if (wants_sums_) sums_ = Block(sums);
  if (wants_weights_) {
    const size_t floats = run_.packing_.gradient_floats();
    weight_gradients_ = Block(floats * groups_);
    for_each(groups_, run_.call_.threads,
             [&](int group, int) { std::fill_n(gradients_of_group(group), floats, 0.0f); });
  }
}

void CellBackward::run() {
  run_.make_scratch(/*backward=*/true);
  for (size_t phase = 0; phase < schedule_.phases.size(); ++phase) {
    run_phase(static_cast<int>(phase));
    finish_phase(schedule_.phases[phase]);
  }
  if (!wants_weights_) return;
  for_each(static_cast<int>(program_.units.size()), run_.call_.threads, [&](int unit, int) {
    const bool points = !call_.samples;  // see dense()
    run_.packing_.unpack(unit, weight_gradients_.data(), groups_, points, call_.parameters);
  });
  if (call_.samples) finish_weight_samples();
}

// Weight gradients are summed group by group, in the order of images: the result depends on the number of threads, not
// on who was faster.
void CellBackward::run_phase(int phase) {
  if (divides_images_) {
    run_phase_in_parts(phase);
    return;
  }
  const int images = run_.call_.images;
  const auto visit_all = [&](int n, int thread, float* weight_gradients) {
    run_.scratch_[thread]->forget_inputs();
    for (const Step& step : schedule_.again[phase]) run_.make_again(step, n, thread);
    for (const int value : schedule_.phases[phase]) visit(value, n, thread, weight_gradients);
    if (run_.streams_) kernels_.end_streams();
  };
  if (!wants_weights_) {
    for_each(images, run_.call_.threads, [&](int n, int thread) { visit_all(n, thread, nullptr); });
    return;
  }
  for_each(groups_, run_.call_.threads, [&](int group, int thread) {
    const size_t floats = run_.packing_.gradient_floats();
    float* weight_gradients = gradients_of_group(group);
    const Block own = call_.samples ? Block(floats) : Block();
    for (int n = group_begin(group); n < group_begin(group + 1); ++n) {
      if (own.data()) std::fill_n(own.data(), floats, 0.0f);
      visit_all(n, thread, own.data() ? own.data() : weight_gradients);
      if (own.data())
        note_weight_samples(n, n - group_begin(group), own.data(), weight_gradients, group_deviations_[group]);
    }
  });
}

// Every image is a group of its own here, and every unit has its own weight gradients in it.
void CellBackward::run_phase_in_parts(int phase) {
  const int images = run_.call_.images;
  for (const Step& step : schedule_.again[phase])
    for_each(images, run_.call_.threads, [&](int n, int thread) { run_.make_again(step, n, thread); });
  for (const std::vector<int>& wave : schedule_.waves[phase]) {
    const int parts = static_cast<int>(wave.size());
    for_each(images * parts, run_.call_.threads, [&](int i, int thread) {
      const int n = i / parts;
      run_.scratch_[thread]->forget_inputs();
      visit(wave[i % parts], n, thread, wants_weights_ ? gradients_of_group(n) : nullptr);
      if (run_.streams_) kernels_.end_streams();
    });
  }
}

float* CellBackward::gradients_of_group(int group) {
  return weight_gradients_.data() + group * run_.packing_.gradient_floats();
}

// Everything that reads the value has its gradient: adds up what it means for the value, in floats.
void CellBackward::visit(int value, int n, int thread, float* weight_gradients) {
  if (between_[value] && run_.remade_[value]) run_.convolve(run_.maker_[value], n, thread, /*again=*/true);
  float* gradient = start_gradient(value, n, thread);
  if (gradient) {
    add_from_mixes(value, n, thread, gradient);
    add_from_pools(value, n, thread, gradient);
    add_from_plain(value, n, gradient);
  }
  add_from_convolutions(value, n, thread, gradient, weight_gradients);
  const Numbers place = gradient && !sums_between(value, n) ? home(value, n, thread) : nullptr;
  if (place && place != Numbers(gradient)) {
    const int c = run_.channels(value);
    kernels_.copy_pixels(gradient, program_.values[value].pixels(), c, {place, c});
  }
  if (value < program_.inputs) {
    if (gradient) write_input_gradient(value, n, gradient);
    return;
  }
  if (const int mix = mix_of_[value]; mix >= 0) {
    if (program_.mixes[mix].partial > 1) split_partial(mix, slot(n, thread), gradient);
    if (wants_sums_) sum_mix(mix, n, thread);
  }
}

// Where the gradient of a value stays; null where it is only passed on in another form.
Numbers CellBackward::home(int value, int n, int thread) const {
  if (value < program_.inputs) {
    const bool whole_vectors = program_.values[value].channels == run_.channels(value);
    return whole_vectors ? call_.inputs[value] + n * run_.image_numbers(value) : nullptr;
  }
  if (const int mix = mix_of_[value]; mix >= 0)
    return program_.mixes[mix].partial == 1 ? plane(mix, false, slot(n, thread)) : nullptr;
  return between_[value] + slot(n, thread) * run_.image_numbers(value);
}

// Where the gradient of the value is gathered, holding what flows in from the cell's output. Null: not wanted.
float* CellBackward::start_gradient(int value, int n, int thread) {
  const ValueShape& shape = program_.values[value];
  const int c = run_.channels(value);
  if (value < program_.inputs && !call_.inputs[value]) return nullptr;
  const Numbers place = home(value, n, thread);
  const bool in_place = place && place.precision() == Precision::single && !apart_[value];
  float* gradient = in_place ? place.as<float>() : run_.scratch_[thread]->plane;
  const int width = program_.output_channels();
  int offset = 0;
  bool first = true;
  for (const int output : program_.outputs) {
    if (output == value) {
      const ConstNumbers from = call_.output_gradient + (n * shape.pixels() * width + offset);
      if (first) {
        kernels_.pad({.x = {from, width},
                      .channels = shape.channels,
                      .h = shape.height,
                      .w = shape.width,
                      .out = {gradient, static_cast<ptrdiff_t>(shape.width) * c},
                      .c = c});
      } else {
        std::vector<float> more(shape.channels);
        for (size_t i = 0; i < shape.pixels(); ++i) {
          copy_numbers(from + i * width, more.size(), more.data());
          for (int k = 0; k < shape.channels; ++k) gradient[i * c + k] += more[k];
        }
      }
      first = false;
    }
    offset += program_.values[output].channels;
  }
  if (first && !lone_[value]) std::fill_n(gradient, shape.pixels() * c, 0.0f);
  return gradient;
}

void CellBackward::add_from_mixes(int value, int n, int thread, float* gradient) {
  const int c = run_.channels(value);
  for (const Reader& reader : readers_[value]) {
    if (!reader.is_mix) continue;
    const Mix& mix = program_.mixes[reader.index];
    const Term& term = (reader.is_bypass ? mix.bypass : mix.terms)[reader.term];
    const int width = plane_channels(reader.index, reader.is_bypass);
    kernels_.add_scaled({plane(reader.index, reader.is_bypass, slot(n, thread)), width}, run_.weight(term.weight, n),
                        program_.values[value].pixels(), width, {gradient + term.read.first, c});
  }
}

// The inverse of join_groups() in CellRun::run_mix().
void CellBackward::split_partial(int index, int slot, const float* gradient) {
  const Mix& mix = program_.mixes[index];
  const ValueShape& shape = program_.values[mix.output];
  kernels_.split_groups({.pixels = shape.pixels(), .channels = shape.channels, .groups = mix.partial},
                        {gradient, run_.channels(mix.output)},
                        {plane(index, false, slot), plane_channels(index, false)},
                        {plane(index, true, slot), plane_channels(index, true)});
}

void CellBackward::write_input_gradient(int value, int n, const float* gradient) {
  const ValueShape& shape = program_.values[value];
  const int c = run_.channels(value);
  if (shape.channels == c) return;  // was written in place
  const Numbers to = call_.inputs[value] + n * shape.pixels() * shape.channels;
  for (size_t i = 0; i < shape.pixels(); ++i) copy_numbers(gradient + i * c, shape.channels, to + i * shape.channels);
}

}  // namespace nascent::kernels
