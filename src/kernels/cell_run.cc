#include "nascent/kernels/cell_run.h"

#include <algorithm>
#include <map>
#include <span>

#include "nascent/kernels/parallel.h"
#include "nascent/kernels/scratch.h"

namespace nascent::kernels {

namespace {

Halo wider(const Halo& a, const Halo& b) { return {std::max(a.h, b.h), std::max(a.w, b.w)}; }

// Units that read the same thing share its padded copy, so it needs the widest halo of them. Inputs of one shape have
// the same halo if they have any, so that its zeros stay where they are.
std::vector<Halo> shared_halos(const CellProgram& program) {
  std::vector<Halo> own;
  for (const Unit& unit : program.units) own.push_back(halo_of(program, unit));
  const auto shape = [&](const Unit& unit) {
    const ValueShape& value = program.values[unit.input.value];
    return ValueShape{unit.input.channels, value.height, value.width};
  };
  const auto widest = [&](const std::vector<Halo>& halos, const auto& alike) {
    std::vector<Halo> shared = halos;
    for (size_t i = 0; i < halos.size(); ++i) {
      for (size_t j = 0; j < halos.size(); ++j) {
        if (alike(i, j)) shared[i] = wider(shared[i], halos[j]);
      }
    }
    return shared;
  };
  const auto same_input = [&](size_t i, size_t j) { return program.units[i].input == program.units[j].input; };
  const std::vector<Halo> shared = widest(own, same_input);
  return widest(shared, [&](size_t i, size_t j) {
    return shared[i] != Halo{} && shape(program.units[i]) == shape(program.units[j]);
  });
}

}  // namespace

CellRun::CellRun(std::shared_ptr<const CellProgram> program, ForwardCall call)
    : program_(std::move(program)),
      call_(std::move(call)),
      kernels_(image_kernels()),
      schedule_(schedule_forward(*program_, call_.training)),
      packing_(*program_, call_.keep),
      halos_(shared_halos(*program_)),
      normalised_(program_->values.size(), false),
      norms_(program_->norms.size()) {
  if (call_.weights) {
    mixture_.assign(call_.weights,
                    call_.weights + size_t(call_.weight_rows) * (call_.weights_per_image ? call_.images : 1));
  }
  for (const Norm& norm : program_->norms) normalised_[norm.value] = true;
  maker_.assign(program_->values.size(), -1);
  for (size_t u = 0; u < program_->units.size(); ++u) maker_[program_->units[u].output] = static_cast<int>(u);
  folds_ = !call_.training && (!call_.keep || call_.inputs_only);
  divides_images_ = call_.images < call_.threads;
  plan_keeping();
}

CellRun::~CellRun() = default;

void CellRun::plan_keeping() {
  kept_.assign(program_->values.size(), false);
  if (!call_.keep) return;
  const auto readers = readers_of(*program_);
  remade_ = remade_values(*program_, readers);
  if (!folds_) {
    for (size_t v = 0; v < kept_.size(); ++v) kept_[v] = !remade_[v];
    return;
  }
  // So little is kept that only pools are worth making again.
  const std::vector<bool> behind = values_behind_input_gradients(*program_, readers);
  for (size_t v = 0; v < kept_.size(); ++v) {
    const bool max_pool = maker_[v] >= 0 && program_->units[maker_[v]].kind == Unit::Kind::max_pool;
    remade_[v] = remade_[v] && max_pool;
    kept_[v] = behind[v] && !remade_[v];
  }
}

void CellRun::forward(Numbers output) {
  output_ = output;
  if (!call_.training) finish_statistics(-1);
  plan_ends();
  pack_weights(call_.parameters);
  place_values();
  place_inputs();
  make_scratch(/*backward=*/false);
  for (size_t phase = 0; phase < schedule_.phases.size(); ++phase) {
    run_phase(phase);
    for (const int unit : schedule_.plain[phase]) run_plain(unit);
    if (call_.training) finish_statistics(static_cast<int>(phase));
  }
  scratch_.clear();
  passing_ = Block();
  moments_ = Block();
  if (!call_.keep) values_ = Block();
}

void CellRun::make_scratch(bool backward) {
  const ScratchSizes sizes = scratch_sizes(*program_, halos_, backward);
  scratch_.resize(call_.threads);
  for_each(call_.threads, call_.threads,
           [&](int index, int) { scratch_[index] = std::make_unique<Scratch>(sizes, backward); });
}

void CellRun::pack_weights(const std::vector<const float*>& parameters) {
  packed_ = Block(packing_.floats());
  for_each(static_cast<int>(program_->units.size()), call_.threads, [&](int unit, int) {
    const float* scale = ends_[unit].norm >= 0 ? norms_[ends_[unit].norm].scale.data() : nullptr;
    packing_.pack(unit, parameters, scale, packed_.data());
  });
}

Numbers CellRun::image(int value, int n, int thread) const {
  return value_[value] + static_cast<ptrdiff_t>(n * image_stride_[value] + thread * thread_stride_[value]);
}

float CellRun::weight(int row, int n) const {
  if (row < 0) return 1;
  return call_.weights_per_image ? mixture_[static_cast<size_t>(row) * call_.images + n] : mixture_[row];
}

void CellRun::run_phase(size_t phase) {
  const auto run = [&](std::span<const Step> steps, int n, int thread) {
    scratch_[thread]->forget_inputs();
    for (const Step& step : steps) run_step(step, n, thread);
    if (streams_) kernels_.end_streams();
  };
  if (!divides_images_) {
    for_each(call_.images, call_.threads, [&](int n, int thread) { run(schedule_.phases[phase], n, thread); });
    return;
  }
  for (const std::vector<Step>& wave : schedule_.waves[phase]) {
    const std::vector<std::vector<Step>> parts = parts_of(wave);
    const int count = static_cast<int>(parts.size());
    for_each(call_.images * count, call_.threads, [&](int i, int thread) { run(parts[i % count], i / count, thread); });
  }
}

// What threads may do beside one another: of the steps of a wave, those that add to one state follow each other, in the
// order in which one thread takes them.
std::vector<std::vector<Step>> CellRun::parts_of(const std::vector<Step>& wave) const {
  std::vector<std::vector<Step>> parts;
  std::map<int, size_t> part_of;  // by the value that it writes
  for (const Step& step : wave) {
    const int value = step.is_mix ? program_->mixes[step.index].output : ends_[step.index].value;
    const auto [part, is_new] = part_of.try_emplace(value, parts.size());
    if (is_new) parts.emplace_back();
    parts[part->second].push_back(step);
  }
  return parts;
}

void CellRun::run_step(const Step& step, int n, int thread) {
  if (step.is_mix) {
    run_mix(step.index, n, thread);
  } else {
    run_unit(step.index, n, thread);
  }
}

void CellRun::run_unit(int index, int n, int thread) {
  const Unit& unit = program_->units[index];
  if (unit.kind == Unit::Kind::convolution) {
    convolve(index, n, thread);
    return;
  }
  pool(index, n, thread);
  add_moments(unit.output, n, image(unit.output, n, thread), program_->values[unit.output].pixels(), true);
}

void CellRun::pool(int index, int n, int thread) const {
  const Unit& unit = program_->units[index];
  const ValueShape& shape = program_->values[unit.input.value];
  const auto kernel = unit.kind == Unit::Kind::max_pool ? kernels_.max_pool : kernels_.avg_pool;
  kernel({.x = {image(unit.input.value, n, thread) + unit.input.first, pixel(unit.input.value)},
          .h = shape.height,
          .w = shape.width,
          .c = channels(unit.output),
          .window = unit.window},
         image(unit.output, n, thread));
}

void CellRun::make_again(const Step& step, int n, int thread) {
  if (step.is_mix) {
    run_mix(step.index, n, thread);
  } else {
    pool(step.index, n, thread);
  }
}

// Rows of what is read, normalised and rectified.
void CellRun::make_ready(const Read& read, int n, int thread, int first, int rows, Rows<Stored> to) const {
  const ValueShape& shape = program_->values[read.value];
  const NormCoefficients* norm = norm_of(read);
  const ConstNumbers from = image(read.value, n, thread) + first * shape.width * pixel(read.value);
  kernels_.pad({.x = {from + read.first, pixel(read.value)},
                .channels = read.channels,
                .h = rows,
                .w = shape.width,
                .scale = norm ? norm->scale.data() + read.first : nullptr,
                .shift = norm ? norm->shift.data() + read.first : nullptr,
                .relu = read.relu,
                .out = to,
                .c = padded(read.channels)});
}

ConstNumbers CellRun::padded_input(int index, int n, int thread, int rows) {
  const Read& read = program_->units[index].input;
  const ValueShape& shape = program_->values[read.value];
  auto& held = scratch_[thread]->held;
  const auto is_held = [&] { return held[0].image == n && held[0].read == read; };
  if (held[1].frame.data && !is_held()) std::swap(held[0], held[1]);
  const Rows<Stored> place = held[0].frame.around(shape, padded(read.channels), halos_[index], program_->precision);
  if (!is_held()) {
    held[0].read = read;
    held[0].image = n;
    held[0].rows = 0;
  }
  if (const int done = held[0].rows, more = std::min(rows, shape.height) - done; more > 0) {
    make_ready(read, n, thread, done, more, {place.pixels + done * place.row, place.row});
    held[0].rows += more;
  }
  return place.pixels;
}

ConstNumbers CellRun::ready_rows(int index, int n, int thread, int first, int rows) {
  const Read& read = program_->units[index].input;
  const ValueShape& shape = program_->values[read.value];
  const bool as_it_is = !norm_of(read) && !read.relu && padded(read.channels) == pixel(read.value);
  if (as_it_is) return image(read.value, n, thread) + first * shape.width * pixel(read.value);
  const Numbers ready = stored(scratch_[thread]->ready);
  make_ready(read, n, thread, first, rows, {ready, static_cast<ptrdiff_t>(shape.width) * padded(read.channels)});
  return ready;
}

void CellRun::convolve(int index, int n, int thread, bool again) {
  const Unit& unit = program_->units[index];
  Scratch& scratch = *scratch_[thread];
  // Rows of the input are made ready when they are needed and still in the cache after that; without a halo they are
  // not kept.
  const bool by_rows = halos_[index].h == 0 && halos_[index].w == 0;
  const ValueShape &in = program_->values[unit.input.value], &out = program_->values[unit.output];
  const int ci = unit.input.channels, cip = padded(ci), cop = channels(unit.output);
  const ptrdiff_t row = static_cast<ptrdiff_t>(in.width + 2 * halos_[index].w) * cip;
  const ptrdiff_t step = static_cast<ptrdiff_t>(unit.stride_w) * cip;
  const bool separable = !unit.depthwise.empty();
  const Taps taps = scratch.tap_offsets(separable ? unit.depthwise : unit.dense, row, cip);
  const ConstNumbers depthwise = packing_.depthwise(index, packed_.data());
  const ConstNumbers dense = packing_.dense(index, packed_.data());
  const UnitEnd& end = ends_[index];
  const Numbers result = image(end.value, n, thread);
  const ptrdiff_t out_pixel = pixel(end.value);
  const bool winograd_form = packing_.unit(index).winograd;
  const int chunk = winograd_form ? kWinogradRows : rows_at_once(out.width, std::max(cip, cop), program_->precision);
  for (int y = 0; y < out.height; y += chunk) {
    const int rows = std::min(chunk, out.height - y), pixels = rows * out.width;
    const Numbers place = result + y * out.width * out_pixel;
    const Numbers to = streams_ && !again ? stored(scratch.result_rows) : place;
    const Numbers made = separable && !unit.dense.empty() ? stored(scratch.rows) : to;
    Start start;
    if (end.adds) {
      start = {place, out_pixel};
    } else if (!end.start.empty()) {
      start = {end.start.data(), 0};
    }
    const int first = y * unit.stride_h, below = first + rows * unit.stride_h;
    const ConstNumbers at = by_rows ? ready_rows(index, n, thread, first, std::min(below, in.height) - first)
                                    : padded_input(index, n, thread, below + halos_[index].h) + first * row;
    if (winograd_form)
      winograd(kernels_,
               {.in = {at.as<float>() + taps.offsets[0], row},
                .ci = ci,
                .rows = rows,
                .width = out.width,
                .co = out.channels,
                .scratch = scratch.tiles},
               dense.as<float>(), /*add=*/false, {to.as<float>(), static_cast<ptrdiff_t>(out.width) * cop});
    if (separable)
      kernels_.depthwise({.in = {at, unit.stride_h * row},
                          .taps = taps,
                          .grid = grid_of(unit),
                          .step = step,
                          .weights = depthwise,
                          .rows = rows,
                          .pixels = out.width,
                          .c = cip,
                          .out = {made, static_cast<ptrdiff_t>(out.width) * cip}});
    // Rows that follow one another are one long row, which falls into full tiles.
    const int joined = unit.stride_h * row == out.width * step ? rows : 1;
    for (int r = 0; r < rows && !separable && !winograd_form; r += joined)
      kernels_.dense({.in = at + r * unit.stride_h * row,
                      .taps = taps,
                      .step = step,
                      .ci = ci,
                      .weights = dense,
                      .pixels = joined * out.width,
                      .co = cop,
                      .start = start.after(r * out.width),
                      .out = {to + r * out.width * out_pixel, out_pixel}});
    if (made != to)
      kernels_.dense({.in = made,
                      .taps = kOneTap,
                      .step = cip,
                      .ci = ci,
                      .weights = dense,
                      .pixels = pixels,
                      .co = cop,
                      .start = start,
                      .out = {to, out_pixel}});
    if (!again) add_moments(unit.output, n, to, pixels, y == 0);
    if (to != place) kernels_.stream(to, static_cast<size_t>(pixels) * cop, place);
  }
}

// Per image: a value near the mean (the first pixel), and the first two moments about it, so that large means do not
// drown small variances.
void CellRun::add_moments(int value, int n, ConstNumbers rows, size_t pixels, bool first) {
  if (!normalised_[value] || !call_.training) return;
  const int c = channels(value);
  float* moments = moments_.data() + moments_offset_[value] + size_t{3} * c * n;
  if (first) {
    copy_numbers(rows, c, moments);
    std::fill_n(moments + c, 2 * c, 0.0f);
  }
  kernels_.moments(rows, pixels, c, moments, moments + c);
}

void CellRun::fill_terms(const std::vector<Term>& terms, int c, int n, int thread) {
  Scratch& scratch = *scratch_[thread];
  scratch.terms.resize(terms.size());
  scratch.coefficients.assign(2 * terms.size() * c, 0.0f);
  scratch.bias.assign(c, 0.0f);
  for (size_t t = 0; t < terms.size(); ++t) {
    const Read& read = terms[t].read;
    const float w = weight(terms[t].weight, n);
    const NormCoefficients* norm = norm_of(read);
    float *scale = scratch.coefficients.data() + 2 * t * c, *shift = scale + c;
    for (int k = 0; k < read.channels; ++k) {
      const float a = norm ? norm->scale[read.first + k] : 1, s = norm ? norm->shift[read.first + k] : 0;
      scale[k] = read.relu ? a : w * a;
      shift[k] = s;
      if (!read.relu) scratch.bias[k] += w * s;
    }
    scratch.terms[t] = {.value = image(read.value, n, thread) + read.first,
                        .pixel = pixel(read.value),
                        .scale = scale,
                        .shift = shift,
                        .centre = norm ? norm->mean.data() + read.first : nullptr,
                        .weight = w,
                        .relu = read.relu};
  }
}

void CellRun::run_mix(int index, int n, int thread) {
  const Mix& mix = program_->mixes[index];
  Scratch& scratch = *scratch_[thread];
  const ValueShape& shape = program_->values[mix.output];
  const int c = padded(shape.channels / mix.partial);
  const Numbers out = image(mix.output, n, thread);
  const auto add_up = [&](const std::vector<Term>& terms, int width, Numbers to, ptrdiff_t to_pixel) {
    fill_terms(terms, width, n, thread);
    kernels_.mix(scratch.terms, scratch.bias.data(), shape.pixels(), width, {to, to_pixel});
  };
  if (mix.partial == 1) {
    const bool added_already = !mix.terms.empty() && terms_left_[index].empty();
    if (!added_already) add_up(terms_left_[index], c, out, pixel(mix.output));
  } else {
    const int others = padded(shape.channels - shape.channels / mix.partial);
    const Numbers first = stored(scratch.plane), rest = stored(scratch.other_plane);
    add_up(mix.terms, c, first, c);
    add_up(mix.bypass, others, rest, others);
    kernels_.join_groups({.pixels = shape.pixels(), .channels = shape.channels, .groups = mix.partial}, {first, c},
                         {rest, others}, {out, pixel(mix.output)});
  }
  write_output(mix.output, n, out);
}

void CellRun::write_output(int value, int n, ConstNumbers image) const {
  if (in_output_) return;
  const int width = program_->output_channels(), c = channels(value);
  const ValueShape& shape = program_->values[value];
  int offset = 0;
  for (const int output : program_->outputs) {
    if (output == value) {
      const Numbers to = output_ + (static_cast<ptrdiff_t>(n * shape.pixels()) * width + offset);
      if (c == shape.channels) {
        kernels_.copy_pixels(image, shape.pixels(), c, {to, width});
      } else {
        for (ptrdiff_t i = 0; i < static_cast<ptrdiff_t>(shape.pixels()); ++i)
          copy_numbers(image + i * c, shape.channels, to + i * width);
      }
    }
    offset += program_->values[output].channels;
  }
}

}  // namespace nascent::kernels
