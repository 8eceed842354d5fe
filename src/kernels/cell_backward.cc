#include "kernels/cell_backward.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "kernels/parallel.h"
#include "kernels/scratch.h"

namespace nascent::kernels {

namespace {

constexpr ptrdiff_t kHere = 0;
constexpr Taps kOneTap = {&kHere, 1};

Taps offsets_of(const std::vector<TapAt>& taps, ptrdiff_t row, ptrdiff_t c, int sign, std::vector<ptrdiff_t>& storage) {
  storage.resize(taps.size());
  for (size_t t = 0; t < taps.size(); ++t) storage[t] = sign * (taps[t].dy * row + taps[t].dx * c);
  return {storage.data(), static_cast<int>(taps.size())};
}

}  // namespace

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
  schedule_ = schedule_backward(program_, readers_, values_to_visit(), run.call_.training);
  // Four groups per thread, so that a slow core can leave some to the other.
  groups_ = std::min(run.call_.images, 4 * run.call_.threads);
  place_gradients();
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

float* CellBackward::plane(int mix, bool bypass, int n) const {
  const size_t pixels = program_.values[program_.mixes[mix].output].pixels();
  return (bypass ? bypass_ : main_)[mix] + n * pixels * plane_channels(mix, bypass);
}

void CellBackward::place_gradients() {
  const int images = run_.call_.images;
  std::vector<Resident> residents;
  std::vector<float**> places;
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
  const auto place = [&](float*& to, size_t floats, int first, int last) {
    residents.push_back({floats * images + 64, first, last});
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
    place(between_[v], run_.image_floats(value), visited(value), last);
    if (run_.remade_.backward[v]) place(run_.value_[v], run_.image_floats(value), visited(value), last);
    between_sums_[v] = sums;
    sums += size_t{3} * run_.channels(value) * images;
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
  for (size_t i = 0; i < places.size(); ++i) *places[i] = gradients_.data() + plan.offsets[i];
  sums_ = Block(sums);
  if (wants_weights_) {
    const size_t floats = run_.packing_.gradient_floats() * groups_;
    weight_gradients_ = Block(floats);
    std::fill_n(weight_gradients_.data(), floats, 0.0f);
  }
}

void CellBackward::run() {
  for (const auto& phase : schedule_.phases) {
    run_phase(phase);
    finish_phase(phase);
  }
  if (!wants_weights_) return;
  for_each(static_cast<int>(program_.units.size()), run_.call_.threads,
           [&](int unit, int) { run_.packing_.unpack(unit, weight_gradients_.data(), groups_, call_.parameters); });
}

// Weight gradients are summed group by group, in the order of images: the result depends on the number of threads, not
// on who was faster.
void CellBackward::run_phase(const std::vector<int>& values) {
  const int images = run_.call_.images;
  const auto visit_all = [&](int n, int thread, float* weight_gradients) {
    run_.scratch_[thread]->forget_inputs();
    for (const int value : values) visit(value, n, thread, weight_gradients);
    if (run_.streams_) kernels_.end_streams();
  };
  if (!wants_weights_) {
    for_each(images, run_.call_.threads, [&](int n, int thread) { visit_all(n, thread, nullptr); });
    return;
  }
  for_each(groups_, run_.call_.threads, [&](int group, int thread) {
    float* weight_gradients = weight_gradients_.data() + group * run_.packing_.gradient_floats();
    const auto bound = [&](int g) { return static_cast<int>(int64_t{images} * g / groups_); };
    for (int n = bound(group); n < bound(group + 1); ++n) visit_all(n, thread, weight_gradients);
  });
}

void CellBackward::finish_phase(const std::vector<int>& values) {
  for (const int value : values) {
    if (mix_of_[value] >= 0) {
      finish_terms(mix_of_[value], false);
      if (program_.mixes[mix_of_[value]].partial > 1) finish_terms(mix_of_[value], true);
    } else if (plain_of_[value] >= 0) {
      run_plain(plain_of_[value]);
    } else if (between_[value]) {
      finish_between(value);
    }
  }
}

// Everything that reads the value has its gradient: adds up what it means for the value.
void CellBackward::visit(int value, int n, int thread, float* weight_gradients) {
  if (run_.remade_.backward[value]) run_.convolve(run_.maker_[value], n, thread, /*again=*/true);
  float* gradient = start_gradient(value, n, thread);
  if (gradient) {
    add_from_mixes(value, n, gradient);
    add_from_pools(value, n, thread, gradient);
    add_from_plain(value, n, gradient);
  }
  add_from_convolutions(value, n, thread, gradient, weight_gradients);
  if (between_[value]) sum_between(value, n, thread, gradient);
  if (float* place = gradient ? home(value, n) : nullptr; place && place != gradient) {
    if (streams_gradient(value)) {
      kernels_.stream(gradient, run_.image_floats(value), place);
    } else {
      std::copy_n(gradient, run_.image_floats(value), place);
    }
    gradient = place;
  }
  if (value < program_.inputs) {
    if (gradient) write_input_gradient(value, n, gradient);
    return;
  }
  if (const int mix = mix_of_[value]; mix >= 0) {
    if (program_.mixes[mix].partial > 1) split_partial(program_.mixes[mix], mix, n, gradient);
    sum_mix(mix, n, thread);
  }
}

// A gradient between two units is not read again in this phase, so it is written past the caches.
bool CellBackward::streams_gradient(int value) const { return run_.streams_ && lone_[value] && between_[value]; }

void CellBackward::sum_between(int value, int n, int thread, const float* gradient) {
  const int norm = between_norm(value);
  if (norm < 0) return;
  const int c = run_.channels(value);
  const MixTerm term = {.value = run_.image(value, n, thread), .pixel = c, .centre = run_.norms_[norm].mean.data()};
  kernels_.mix_sums(gradient, &term, 1, program_.values[value].pixels(), c,
                    sums_.data() + between_sums_[value] + size_t{3} * c * n);
}

// The norm behind which units read the value, -1: none.
int CellBackward::between_norm(int value) const {
  for (const Reader& reader : readers_[value]) {
    if (!reader.is_mix) return program_.units[reader.index].input.norm;
  }
  return -1;
}

// Where the gradient of a value stays; null where it is only passed on in another form.
float* CellBackward::home(int value, int n) const {
  if (value < program_.inputs) {
    const bool whole_vectors = program_.values[value].channels == run_.channels(value);
    return whole_vectors ? call_.inputs[value] + n * run_.image_floats(value) : nullptr;
  }
  if (const int mix = mix_of_[value]; mix >= 0)
    return program_.mixes[mix].partial == 1 ? plane(mix, false, n) : nullptr;
  return between_[value] + n * run_.image_floats(value);
}

// Where the gradient of the value is gathered, holding what flows in from the cell's output. Null: not wanted.
float* CellBackward::start_gradient(int value, int n, int thread) {
  const ValueShape& shape = program_.values[value];
  const int c = run_.channels(value);
  if (value < program_.inputs && !call_.inputs[value]) return nullptr;
  float* place = home(value, n);
  const bool in_place = place && !apart_[value] && !streams_gradient(value);
  float* gradient = in_place ? place : run_.scratch_[thread]->plane;
  const int width = program_.output_channels();
  int offset = 0;
  bool first = true;
  for (const int output : program_.outputs) {
    if (output == value) {
      const float* from = call_.output_gradient + n * shape.pixels() * width + offset;
      for (size_t i = 0; i < shape.pixels(); ++i) {
        float* to = gradient + i * c;
        if (first) {
          std::memcpy(to, from + i * width, sizeof(float) * shape.channels);
          std::fill(to + shape.channels, to + c, 0.0f);
        } else {
          for (int k = 0; k < shape.channels; ++k) to[k] += from[i * width + k];
        }
      }
      first = false;
    }
    offset += program_.values[output].channels;
  }
  if (first && !lone_[value]) std::fill_n(gradient, shape.pixels() * c, 0.0f);
  return gradient;
}

void CellBackward::add_from_mixes(int value, int n, float* gradient) {
  const int c = run_.channels(value);
  for (const Reader& reader : readers_[value]) {
    if (!reader.is_mix) continue;
    const Mix& mix = program_.mixes[reader.index];
    const Term& term = (reader.is_bypass ? mix.bypass : mix.terms)[reader.term];
    const int width = plane_channels(reader.index, reader.is_bypass);
    kernels_.add_scaled(plane(reader.index, reader.is_bypass, n), width, run_.weight(term.weight, n),
                        program_.values[value].pixels(), width, gradient + term.read.first, c);
  }
}

void CellBackward::add_from_pools(int value, int n, int thread, float* gradient) {
  Scratch& scratch = *run_.scratch_[thread];
  const ValueShape& shape = program_.values[value];
  const int c = run_.channels(value);
  for (const Reader& reader : readers_[value]) {
    if (reader.is_mix) continue;
    const Unit& unit = program_.units[reader.index];
    if (!unit.is_pool()) continue;
    const int width = run_.channels(unit.output);
    if (run_.remade_.always[unit.output]) run_.pool(reader.index, n, thread);
    gather(unit.output, n, thread);
    output_gradient(unit.output, n, thread, 0, program_.values[unit.output].pixels(), scratch.other_plane);
    if (unit.kind == Unit::Kind::avg_pool) {
      kernels_.avg_pool_backward(shape.height, shape.width, width, unit.window, scratch.other_plane,
                                 gradient + unit.input.first, c);
    } else {
      kernels_.max_pool_backward(run_.image(value, n, thread) + unit.input.first, run_.pixel(value), shape.height,
                                 shape.width, width, unit.window, run_.image(unit.output, n, thread),
                                 scratch.other_plane, gradient + unit.input.first, c);
    }
  }
}

void CellBackward::add_from_convolutions(int value, int n, int thread, float* gradient, float* weight_gradients) {
  Scratch& scratch = *run_.scratch_[thread];
  const ValueShape& shape = program_.values[value];
  std::vector<int> units;
  for (const Reader& reader : readers_[value]) {
    if (!reader.is_mix && program_.units[reader.index].kind == Unit::Kind::convolution) units.push_back(reader.index);
  }
  // Those that read the same share the padded input and its gradient.
  while (!units.empty()) {
    const int leader = units.front();
    const Read& read = program_.units[leader].input;
    const Halo halo = run_.halos_[leader];
    const int c = padded(read.channels);
    const ptrdiff_t row = static_cast<ptrdiff_t>(shape.width + 2 * halo.w) * c;
    const float* input = run_.padded_input(leader, n, thread);
    // The first to come writes the gradient, others add to it; with a stride some pixels get nothing.
    const bool strided = program_.units[leader].stride_h > 1 || program_.units[leader].stride_w > 1;
    if (gradient && strided) std::fill_n(scratch.input_gradient, row * (shape.height + 2 * halo.h), 0.0f);
    std::vector<int> others;
    std::erase_if(units, [&](int unit) {
      const bool same = program_.units[unit].input == read;
      if (same) others.push_back(unit);
      return same;
    });
    for (size_t i = 0; i < others.size(); ++i) {
      convolution(others[i], n, thread, input, gradient != nullptr, i > 0 || strided, weight_gradients);
    }
    if (!gradient) continue;
    const float* inner = scratch.input_gradient + halo.h * row + static_cast<ptrdiff_t>(halo.w) * c;
    kernels_.pass_where_active(inner, read.relu ? input : nullptr, row, shape.height, shape.width, c, !lone_[value],
                               gradient + read.first, run_.channels(value));
  }
}

void CellBackward::convolution(int index, int n, int thread, const float* input, bool wants_input, bool add,
                               float* weight_gradients) {
  if (!wants_input && !weight_gradients) return;
  const Unit& unit = program_.units[index];
  Scratch& scratch = *run_.scratch_[thread];
  const Halo halo = run_.halos_[index];
  const int c = padded(unit.input.channels);
  const ptrdiff_t inner =
      (static_cast<ptrdiff_t>(halo.h) * (program_.values[unit.input.value].width + 2 * halo.w) + halo.w) * c;
  float* input_gradient = wants_input ? scratch.input_gradient + inner : nullptr;
  gather(unit.output, n, thread);
  const auto kind = unit.depthwise.empty() ? &CellBackward::dense : &CellBackward::separable;
  (this->*kind)(index, n, thread, input, input_gradient, add, weight_gradients);
}

// Depthwise, then pointwise (or nothing). The image between the two is made anew, row by row.
void CellBackward::separable(int index, int n, int thread, const float* input, float* input_gradient, bool add,
                             float* weight_gradients) {
  const Unit& unit = program_.units[index];
  Scratch& scratch = *run_.scratch_[thread];
  const ValueShape &in = program_.values[unit.input.value], &out = program_.values[unit.output];
  const Halo halo = run_.halos_[index];
  const int ci = unit.input.channels, cip = padded(ci), cop = run_.channels(unit.output);
  const ptrdiff_t row = static_cast<ptrdiff_t>(in.width + 2 * halo.w) * cip;
  const ptrdiff_t step = static_cast<ptrdiff_t>(unit.stride_w) * cip;
  const bool strided = unit.stride_h > 1 || unit.stride_w > 1;
  const float* depthwise_weights = run_.packed_.data() + run_.packing_.unit(index).depthwise;
  const float* transposed = run_.packed_.data() + run_.packing_.unit(index).transposed;
  // The gradient between the two halves has a halo of zeros where the depthwise one is turned around over it.
  const Halo around = strided ? Halo{} : halo;
  const ptrdiff_t between_row = static_cast<ptrdiff_t>(out.width + 2 * around.w) * cip;
  float* between = scratch.between + around.h * between_row + static_cast<ptrdiff_t>(around.w) * cip;
  std::fill_n(scratch.between, around.h * between_row, 0.0f);
  std::fill_n(scratch.between + (out.height + around.h) * between_row, around.h * between_row, 0.0f);
  for (int y = 0; y < out.height; ++y) {
    std::fill_n(between + y * between_row - around.w * cip, around.w * cip, 0.0f);
    std::fill_n(between + y * between_row + static_cast<ptrdiff_t>(out.width) * cip, around.w * cip, 0.0f);
  }
  const Taps taps = offsets_of(unit.depthwise, row, cip, 1, scratch.offsets);
  const int chunk = rows_at_once(out.width, std::max(cip, cop));
  for (int y = 0; y < out.height; y += chunk) {
    const int rows = std::min(chunk, out.height - y), pixels = rows * out.width;
    const bool pointwise = !unit.dense.empty();
    output_gradient(unit.output, n, thread, static_cast<size_t>(y) * out.width, pixels, scratch.gradient_rows);
    if (weight_gradients && pointwise) {
      for (int r = 0; r < rows; ++r)
        kernels_.depthwise(input + (y + r) * unit.stride_h * row, taps, depthwise_weights, step, out.width, cip, false,
                           scratch.rows + static_cast<ptrdiff_t>(r) * out.width * cip);
      kernels_.dense_weights(scratch.rows, 0, kOneTap, ci, cip, scratch.gradient_rows, 0, 1, pixels, cop,
                             weight_gradients + run_.packing_.dense_gradient(index));
    }
    for (int r = 0; r < rows; ++r) {
      const float* from = scratch.gradient_rows + static_cast<ptrdiff_t>(r) * out.width * cop;
      float* to = between + (y + r) * between_row;
      if (pointwise) {
        kernels_.dense(from, kOneTap, out.channels, transposed, cop, out.width, cip, false, to);
      } else {
        std::copy_n(from, out.width * cip, to);
      }
      fetch_row(unit.output, n, thread, y + rows + r);
    }
  }
  if (weight_gradients) {
    kernels_.depthwise_weights(input, unit.stride_h * row, taps, step, between, between_row, out.height, out.width, cip,
                               weight_gradients + run_.packing_.depthwise_gradient(index));
  }
  if (!input_gradient) return;
  if (strided) {
    for (int y = 0; y < out.height; ++y)
      kernels_.depthwise_scatter(between + y * between_row, taps, depthwise_weights, step, out.width, cip,
                                 input_gradient + y * unit.stride_h * row);
    return;
  }
  const Taps turned = offsets_of(unit.depthwise, between_row, cip, -1, scratch.offsets);
  for (int y = 0; y < in.height; ++y)
    kernels_.depthwise(between + y * between_row, turned, depthwise_weights, cip, in.width, cip, add,
                       input_gradient + y * row);
}

void CellBackward::dense(int index, int n, int thread, const float* input, float* input_gradient, bool add,
                         float* weight_gradients) {
  const Unit& unit = program_.units[index];
  Scratch& scratch = *run_.scratch_[thread];
  const ValueShape &in = program_.values[unit.input.value], &out = program_.values[unit.output];
  const Halo halo = run_.halos_[index];
  const int ci = unit.input.channels, cip = padded(ci), cop = run_.channels(unit.output);
  const ptrdiff_t row = static_cast<ptrdiff_t>(in.width + 2 * halo.w) * cip;
  const ptrdiff_t step = static_cast<ptrdiff_t>(unit.stride_w) * cip;
  const bool strided = unit.stride_h > 1 || unit.stride_w > 1;
  const float* transposed = run_.packed_.data() + run_.packing_.unit(index).transposed;
  const Halo around = strided ? Halo{} : halo;
  const ptrdiff_t gradient_row = static_cast<ptrdiff_t>(out.width + 2 * around.w) * cop;
  float* gradient = scratch.between + around.h * gradient_row + static_cast<ptrdiff_t>(around.w) * cop;
  std::fill_n(scratch.between, around.h * gradient_row, 0.0f);
  std::fill_n(scratch.between + (out.height + around.h) * gradient_row, around.h * gradient_row, 0.0f);
  const Taps taps = offsets_of(unit.dense, row, cip, 1, scratch.offsets);
  for (int y = 0; y < out.height; ++y) {
    float* to = gradient + y * gradient_row;
    std::fill_n(to - around.w * cop, around.w * cop, 0.0f);
    std::fill_n(to + static_cast<ptrdiff_t>(out.width) * cop, around.w * cop, 0.0f);
    output_gradient(unit.output, n, thread, static_cast<size_t>(y) * out.width, out.width, to);
    if (!input_gradient || !strided) continue;
    // One tap after the other: what it sends back lands `step` apart.
    for (int t = 0; t < taps.count; ++t) {
      kernels_.dense(to, kOneTap, out.channels, transposed + static_cast<ptrdiff_t>(t) * out.channels * cip, cop,
                     out.width, cip, false, scratch.rows);
      kernels_.add_strided(scratch.rows, out.width, cip, input_gradient + y * unit.stride_h * row + taps.offsets[t],
                           step);
    }
  }
  float* weight_gradient = weight_gradients ? weight_gradients + run_.packing_.dense_gradient(index) : nullptr;
  if (run_.packing_.unit(index).winograd) {
    if (weight_gradient)
      winograd_weights(kernels_, {input + taps.offsets[0], row}, ci, {gradient, gradient_row}, out.height, out.width,
                       out.channels, weight_gradient, scratch.tiles);
    if (input_gradient)
      winograd(kernels_, {gradient - gradient_row - cop, gradient_row}, out.channels, transposed, in.height, in.width,
               ci, add, {input_gradient, row}, scratch.tiles);
    return;
  }
  if (weight_gradient)
    kernels_.dense_weights(input, unit.stride_h * row, taps, ci, step, gradient, gradient_row, out.height, out.width,
                           cop, weight_gradient);
  if (!input_gradient || strided) return;
  const Taps turned = offsets_of(unit.dense, gradient_row, cop, -1, scratch.offsets);
  for (int y = 0; y < in.height; ++y)
    kernels_.dense(gradient + y * gradient_row, turned, out.channels, transposed, cop, in.width, cip, add,
                   input_gradient + y * row);
}

// The inverse of shuffle().
void CellBackward::split_partial(const Mix& mix, int index, int n, const float* gradient) {
  const ValueShape& shape = program_.values[mix.output];
  const int c = run_.channels(mix.output), per_group = shape.channels / mix.partial;
  const int main_c = plane_channels(index, false), bypass_c = plane_channels(index, true);
  float *main = plane(index, false, n), *bypass = plane(index, true, n);
  for (size_t i = 0; i < shape.pixels(); ++i, gradient += c, main += main_c, bypass += bypass_c) {
    for (int j = 0; j < per_group; ++j) {
      main[j] = gradient[j * mix.partial];
      for (int g = 1; g < mix.partial; ++g) bypass[(g - 1) * per_group + j] = gradient[j * mix.partial + g];
    }
    std::fill(main + per_group, main + main_c, 0.0f);
    std::fill(bypass + (shape.channels - per_group), bypass + bypass_c, 0.0f);
  }
}

void CellBackward::sum_mix(int index, int n, int thread) {
  const Mix& mix = program_.mixes[index];
  const size_t pixels = program_.values[mix.output].pixels();
  for (const bool bypass : {false, true}) {
    const std::vector<Term>& terms = bypass ? mix.bypass : mix.terms;
    if (terms.empty()) continue;
    const int c = plane_channels(index, bypass);
    run_.make_fleeting(terms, n, thread);
    run_.fill_terms(terms, c, n, thread);
    float* sums = sums_.data() + (bypass ? bypass_sums_ : main_sums_)[index] + (2 * terms.size() + 1) * c * n;
    kernels_.mix_sums(plane(index, bypass, n), run_.scratch_[thread]->terms.data(), static_cast<int>(terms.size()),
                      pixels, c, sums);
  }
}

void CellBackward::write_input_gradient(int value, int n, const float* gradient) {
  const ValueShape& shape = program_.values[value];
  const int c = run_.channels(value);
  if (shape.channels == c) return;  // was written in place
  float* to = call_.inputs[value] + n * shape.pixels() * shape.channels;
  for (size_t i = 0; i < shape.pixels(); ++i)
    std::memcpy(to + i * shape.channels, gradient + i * c, sizeof(float) * shape.channels);
}

void CellBackward::gather(int value, int n, int thread) {
  Scratch& scratch = *run_.scratch_[thread];
  const size_t c = run_.channels(value);
  scratch.inflows.clear();
  scratch.value_scale.clear();
  const auto add = [&](const float* gradient, float weight, int norm, bool relu) {
    Inflow inflow = {.gradient = gradient, .weight = weight};
    if (norm >= 0) {
      const CellRun::NormCoefficients& coefficients = run_.norms_[norm];
      inflow.scale = coefficients.scale.data();
      if (relu) {
        inflow.relu_scale = coefficients.scale.data();
        inflow.relu_shift = coefficients.shift.data();
      }
      if (!norms_[norm].value_scale.empty()) {
        if (scratch.value_scale.empty()) {
          scratch.value_scale.assign(c, 0.0f);
          scratch.constant.assign(c, 0.0f);
          scratch.centre = coefficients.mean.data();
        }
        for (size_t k = 0; k < c; ++k) {
          scratch.value_scale[k] += norms_[norm].value_scale[k];
          scratch.constant[k] += norms_[norm].constant[k];
        }
      }
    }
    scratch.inflows.push_back(inflow);
  };
  if (between_[value]) {  // what all readers want is together
    // The relu is behind us: visit() let pass only what was active.
    add(between_[value] + n * run_.image_floats(value), 1, between_norm(value), false);
    return;
  }
  for (const Reader& reader : readers_[value]) {
    if (!reader.is_mix) continue;  // has no gradient of its own: nobody wants it
    const Mix& mix = program_.mixes[reader.index];
    const Term& term = (reader.is_bypass ? mix.bypass : mix.terms)[reader.term];
    add(plane(reader.index, reader.is_bypass, n), run_.weight(term.weight, n), term.read.norm, term.read.relu);
  }
}

void CellBackward::output_gradient(int value, int n, int thread, size_t from, size_t pixels, float* to) {
  Scratch& scratch = *run_.scratch_[thread];
  const size_t c = run_.channels(value);
  for (Inflow& inflow : scratch.inflows) inflow.gradient += from * c;
  kernels_.combine(scratch.inflows.data(), static_cast<int>(scratch.inflows.size()),
                   run_.image(value, n, thread) + from * c, scratch.centre,
                   scratch.value_scale.empty() ? nullptr : scratch.value_scale.data(), scratch.constant.data(), pixels,
                   static_cast<int>(c), to);
  for (Inflow& inflow : scratch.inflows) inflow.gradient -= from * c;
}

// Brings a row of what output_gradient() reads nearer. Little by little, between computations, costs nothing; at once
// it would be waited for.
void CellBackward::fetch_row(int value, int n, int thread, int row) const {
  const ValueShape& shape = program_.values[value];
  if (row >= shape.height) return;
  const size_t floats = static_cast<size_t>(shape.width) * run_.channels(value);
  fetch_ahead(run_.image(value, n, thread) + row * floats, floats);
  if (between_[value]) fetch_ahead(between_[value] + n * run_.image_floats(value) + row * floats, floats);
}

void CellBackward::finish_terms(int index, bool bypass) {
  const Mix& mix = program_.mixes[index];
  const std::vector<Term>& terms = bypass ? mix.bypass : mix.terms;
  const int images = run_.call_.images;
  std::vector<std::vector<double>> dots(terms.size());  // of the gradient with the term, per image
  for_each(static_cast<int>(terms.size()), run_.call_.threads,
           [&](int t, int) { dots[t] = finish_term(index, bypass, t); });
  if (!call_.weights) return;
  for (size_t t = 0; t < terms.size(); ++t) {
    if (terms[t].weight < 0) continue;
    if (run_.call_.weights_per_image) {
      float* gradients = call_.weights + static_cast<ptrdiff_t>(terms[t].weight) * images;
      for (int n = 0; n < images; ++n) gradients[n] += static_cast<float>(dots[t][n]);
    } else {
      call_.weights[terms[t].weight] += static_cast<float>(std::accumulate(dots[t].begin(), dots[t].end(), 0.0));
    }
  }
}

std::vector<double> CellBackward::finish_term(int index, bool bypass, int t) {
  const Mix& mix = program_.mixes[index];
  const std::vector<Term>& terms = bypass ? mix.bypass : mix.terms;
  const int c = plane_channels(index, bypass), images = run_.call_.images;
  const size_t per_image = (2 * terms.size() + 1) * c;
  const float* sums = sums_.data() + (bypass ? bypass_sums_ : main_sums_)[index];
  const Read& read = terms[t].read;
  const CellRun::NormCoefficients* norm = read.norm >= 0 ? &run_.norms_[read.norm] : nullptr;
  std::vector<double> plain(read.first + c, 0.0), product(read.first + c, 0.0), dots(images, 0.0);
  for (int n = 0; n < images; ++n) {
    const float* of_term = sums + n * per_image + (2 * t + 1) * c;
    const float* g = read.relu ? of_term : sums + n * per_image;
    const double w = run_.weight(terms[t].weight, n);
    for (int k = 0; k < read.channels; ++k) {
      const int at = read.first + k;
      plain[at] += w * g[k];
      product[at] += w * of_term[c + k];
      dots[n] +=
          norm ? double{norm->scale[at]} * of_term[c + k] + double{norm->offset[at]} * g[k] : double{of_term[c + k]};
    }
  }
  if (norm) finish_norm(read.norm, plain, product);
  return dots;
}

void CellBackward::finish_between(int value) {
  const int norm = between_norm(value);
  if (norm < 0) return;
  const int c = run_.channels(value);
  std::vector<double> plain(c, 0.0), product(c, 0.0);
  for (int n = 0; n < run_.call_.images; ++n) {
    const float* sums = sums_.data() + between_sums_[value] + size_t{3} * c * n;
    for (int k = 0; k < c; ++k) {
      plain[k] += sums[k];
      product[k] += sums[2 * c + k];
    }
  }
  finish_norm(norm, plain, product);
}

// `plain` is the sum of the gradient behind the norm, `product` that of its product with value - mean.
void CellBackward::finish_norm(int index, const std::vector<double>& plain, const std::vector<double>& product) {
  const Norm& norm = program_.norms[index];
  const CellRun::NormCoefficients& forward = run_.norms_[index];
  const int channels = program_.values[norm.value].channels;
  const double count = static_cast<double>(program_.values[norm.value].pixels()) * run_.call_.images;
  NormGradient& to = norms_[index];
  if (run_.call_.training) {
    to.value_scale.assign(forward.scale.size(), 0.0f);
    to.constant.assign(forward.scale.size(), 0.0f);
  }
  for (int k = 0; k < channels; ++k) {
    const double normalised = product[k] * forward.inverse[k];
    if (norm.weight >= 0 && call_.parameters[norm.weight])
      call_.parameters[norm.weight][k] = static_cast<float>(normalised);
    if (norm.bias >= 0 && call_.parameters[norm.bias]) call_.parameters[norm.bias][k] = static_cast<float>(plain[k]);
    if (!run_.call_.training) continue;
    const double scale = forward.scale[k], slope = normalised * forward.inverse[k] / count;
    to.value_scale[k] = static_cast<float>(-scale * slope);
    to.constant[k] = static_cast<float>(-scale * plain[k] / count);
  }
}

}  // namespace nascent::kernels
