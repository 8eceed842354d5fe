// The backward pass through pools and convolutions: from the gradient of what a unit made to those of what it read and
// of its weights, for one image.
#include <algorithm>

#include "nascent/kernels/cell_backward.h"
#include "nascent/kernels/scratch.h"

namespace nascent::kernels {

void CellBackward::gather(int value, int n, int thread) {
  Scratch& scratch = *run_.scratch_[thread];
  const size_t c = run_.channels(value);
  scratch.inflows.clear();
  scratch.value_scale.clear();
  const auto add = [&](ConstNumbers gradient, float weight, const Read& read, bool relu) {
    Inflow inflow = {.gradient = gradient, .weight = weight};
    const CellRun::NormCoefficients* norm = run_.norm_of(read);  // none where it is part of the weights
    if (norm) inflow.scale = norm->scale.data();
    if (relu) {
      inflow.relu_scale = norm ? norm->scale.data() : ones_.data();
      inflow.relu_shift = norm ? norm->shift.data() : zeros_.data();
    }
    scratch.inflows.push_back(inflow);
    if (read.norm < 0 || norms_[read.norm].value_scale.empty()) return;
    if (scratch.value_scale.empty()) {
      scratch.value_scale.assign(c, 0.0f);
      scratch.constant.assign(c, 0.0f);
      scratch.centre = norm->mean.data();
    }
    for (size_t k = 0; k < c; ++k) {
      scratch.value_scale[k] += norms_[read.norm].value_scale[k];
      scratch.constant[k] += norms_[read.norm].constant[k];
    }
  };
  if (between_[value]) {  // what all readers want is together
    // The relu is behind us: visit() let pass only what was active.
    add(between_[value] + slot(n, thread) * run_.image_numbers(value), 1, between_read(value), false);
    return;
  }
  for (const Reader& reader : readers_[value]) {
    if (!reader.is_mix) continue;  // has no gradient of its own: nobody wants it
    const Mix& mix = program_.mixes[reader.index];
    const Term& term = (reader.is_bypass ? mix.bypass : mix.terms)[reader.term];
    add(plane(reader.index, reader.is_bypass, slot(n, thread)), run_.weight(term.weight, n), term.read, term.read.relu);
  }
}

ConstNumbers CellBackward::ready_gradient(int thread) const {
  const Scratch& scratch = *run_.scratch_[thread];
  if (scratch.inflows.size() != 1 || !scratch.value_scale.empty()) return nullptr;
  const Inflow& inflow = scratch.inflows.front();
  if (inflow.scale || inflow.relu_scale || inflow.weight != 1) return nullptr;
  return inflow.gradient;
}

void CellBackward::output_gradient(int value, int n, int thread, size_t from, size_t pixels, Numbers to) {
  Scratch& scratch = *run_.scratch_[thread];
  const ptrdiff_t c = run_.channels(value), first = static_cast<ptrdiff_t>(from) * c;
  for (Inflow& inflow : scratch.inflows) inflow.gradient += first;
  kernels_.combine({.inflows = scratch.inflows,
                    .value = run_.image(value, n, thread) + first,
                    .centre = scratch.centre,
                    .value_scale = scratch.value_scale.empty() ? nullptr : scratch.value_scale.data(),
                    .constant = scratch.constant.data(),
                    .pixels = pixels,
                    .c = static_cast<int>(c),
                    .out = to});
  for (Inflow& inflow : scratch.inflows) inflow.gradient += -first;
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
    gather(unit.output, n, thread);
    output_gradient(unit.output, n, thread, 0, program_.values[unit.output].pixels(), scratch.other_plane);
    const PoolInput input = {.x = {run_.image(value, n, thread) + unit.input.first, run_.pixel(value)},
                             .h = shape.height,
                             .w = shape.width,
                             .c = width,
                             .window = unit.window};
    const Pixels<float> to = {gradient + unit.input.first, c};
    if (unit.kind == Unit::Kind::avg_pool) {
      kernels_.avg_pool_backward(input, scratch.other_plane, to);
    } else {
      kernels_.max_pool_backward(input, run_.image(unit.output, n, thread), scratch.other_plane, to);
    }
  }
}

// As a kernel sees it, for one image.
MixTerm CellBackward::term_of(const Read& read, int n, int thread) const {
  const CellRun::NormCoefficients* norm = run_.norm_of(read);
  return {.value = run_.image(read.value, n, thread) + read.first,
          .pixel = run_.pixel(read.value),
          .scale = norm ? norm->scale.data() + read.first : nullptr,
          .shift = norm ? norm->shift.data() + read.first : nullptr,
          .centre = norm ? norm->mean.data() + read.first : nullptr,
          .relu = read.relu};
}

void CellBackward::add_from_convolutions(int value, int n, int thread, float* gradient, float* weight_gradients) {
  const ValueShape& shape = program_.values[value];
  std::vector<int> units;
  for (const Reader& reader : readers_[value]) {
    if (!reader.is_mix && program_.units[reader.index].kind == Unit::Kind::convolution) units.push_back(reader.index);
  }
  while (!units.empty()) {
    const Read& read = program_.units[units.front()].input;
    const auto others =
        std::stable_partition(units.begin(), units.end(), [&](int unit) { return program_.units[unit].input == read; });
    const Rows<const float> from =
        through_convolutions({units.begin(), others}, n, thread, gradient != nullptr, weight_gradients);
    units.erase(units.begin(), others);
    if (!gradient) continue;
    const ReadGradient of_read = {.gradient = from,
                                  .read = term_of(read, n, thread),
                                  .h = shape.height,
                                  .w = shape.width,
                                  .c = padded(read.channels)};
    if (float* sums = sums_between(value, n)) {
      // Not read again in this phase, so it is written past the caches.
      kernels_.pass_back_and_sum(of_read, run_.streams_, home(value, n, thread), sums);
    } else {
      kernels_.pass_back(of_read, !lone_[value], {gradient + read.first, run_.channels(value)});
    }
  }
}

// Those that read the same share the padded input and its gradient, which this returns.
Rows<const float> CellBackward::through_convolutions(std::span<const int> units, int n, int thread, bool wants_input,
                                                     float* weight_gradients) {
  Scratch& scratch = *run_.scratch_[thread];
  const Unit& leader = program_.units[units.front()];
  const ValueShape& shape = program_.values[leader.input.value];
  const Halo halo = run_.halos_[units.front()];
  const int c = padded(leader.input.channels);
  const ptrdiff_t row = static_cast<ptrdiff_t>(shape.width + 2 * halo.w) * c;
  // The first to come writes the gradient, others add to it; with a stride some pixels get nothing.
  const bool strided = leader.stride_h > 1 || leader.stride_w > 1;
  if (wants_input && strided) std::fill_n(scratch.input_gradient, row * (shape.height + 2 * halo.h), 0.0f);
  for (const int unit : units)
    convolution(unit, n, thread, wants_input, unit != units.front() || strided, weight_gradients);
  return {scratch.input_gradient + halo.h * row + static_cast<ptrdiff_t>(halo.w) * c, row};
}

void CellBackward::convolution(int index, int n, int thread, bool wants_input, bool add, float* weight_gradients) {
  if (!wants_input && !weight_gradients) return;
  const Unit& unit = program_.units[index];
  Scratch& scratch = *run_.scratch_[thread];
  const Halo halo = run_.halos_[index];
  const int c = padded(unit.input.channels);
  const ValueShape& shape = program_.values[unit.input.value];
  const ptrdiff_t inner = (static_cast<ptrdiff_t>(halo.h) * (shape.width + 2 * halo.w) + halo.w) * c;
  ConstNumbers input;
  if (weight_gradients) input = run_.padded_input(index, n, thread, shape.height);
  float* input_gradient = wants_input ? scratch.input_gradient + inner : nullptr;
  gather(unit.output, n, thread);
  const auto kind = unit.depthwise.empty() ? &CellBackward::dense : &CellBackward::separable;
  (this->*kind)(index, n, thread, input, input_gradient, add, weight_gradients);
}

CellBackward::UnitShape CellBackward::shape_of(int index) const {
  const Unit& unit = program_.units[index];
  const ValueShape &in = program_.values[unit.input.value], &out = program_.values[unit.output];
  const Halo halo = run_.halos_[index];
  const int ci = unit.input.channels, cip = padded(ci);
  return {.in = in,
          .out = out,
          .halo = halo,
          .ci = ci,
          .cip = cip,
          .cop = run_.channels(unit.output),
          .row = static_cast<ptrdiff_t>(in.width + 2 * halo.w) * cip,
          .step = static_cast<ptrdiff_t>(unit.stride_w) * cip,
          .strided = unit.stride_h > 1 || unit.stride_w > 1};
}

// Depthwise, then pointwise (or nothing). The image between the two is made anew, row by row.
void CellBackward::separable(int index, int n, int thread, ConstNumbers input, float* input_gradient, bool add,
                             float* weight_gradients) {
  const Unit& unit = program_.units[index];
  Scratch& scratch = *run_.scratch_[thread];
  const auto& [in, out, halo, ci, cip, cop, row, step, strided] = shape_of(index);
  const ConstNumbers depthwise_weights = run_.packing_.depthwise(index, run_.packed_.data());
  const ConstNumbers transposed = run_.packing_.transposed(index, run_.packed_.data());
  // The gradient between the two halves has a halo of zeros where the depthwise one is turned around over it.
  const Rows<Stored> frame = scratch.between.around(out, cip, strided ? Halo{} : halo, program_.precision);
  const Numbers between = frame.pixels;
  const ptrdiff_t between_row = frame.row;
  const Taps taps = scratch.tap_offsets(unit.depthwise, row, cip);
  const Grid grid = grid_of(unit);
  const int chunk = rows_at_once(out.width, std::max(cip, cop), program_.precision);
  // The gradient of the whole image first: memory gives one long stretch sooner than rows between computations.
  ConstNumbers gradient = ready_gradient(thread);
  if (!gradient) {
    const Numbers made = run_.stored(scratch.other_plane);
    output_gradient(unit.output, n, thread, 0, out.pixels(), made);
    gradient = made;
  }
  for (int y = 0; y < out.height; y += chunk) {
    const int rows = std::min(chunk, out.height - y), pixels = rows * out.width;
    const bool pointwise = !unit.dense.empty();
    const ConstNumbers gradient_rows = gradient + static_cast<ptrdiff_t>(y) * out.width * cop;
    const Numbers between_rows = run_.stored(scratch.rows);
    if (weight_gradients && pointwise) {
      kernels_.depthwise({.in = {input + y * unit.stride_h * row, unit.stride_h * row},
                          .taps = taps,
                          .grid = grid,
                          .step = step,
                          .weights = depthwise_weights,
                          .rows = rows,
                          .pixels = out.width,
                          .c = cip,
                          .out = {between_rows, static_cast<ptrdiff_t>(out.width) * cip}});
      kernels_.dense_weights(
          {.pairs = {.in = {between_rows, 0}, .gradient = {gradient_rows, 0}, .rows = 1, .pixels = pixels},
           .taps = kOneTap,
           .step = cip,
           .ci = ci,
           .co = cop,
           .gradients = weight_gradients + run_.packing_.dense_gradient(index)});
    }
    for (int r = 0; r < rows; ++r) {
      const ConstNumbers from = gradient_rows + static_cast<ptrdiff_t>(r) * out.width * cop;
      const Numbers to = between + (y + r) * between_row;
      if (pointwise) {
        kernels_.dense({.in = from,
                        .taps = kOneTap,
                        .step = cop,
                        .ci = out.channels,
                        .weights = transposed,
                        .pixels = out.width,
                        .co = cip,
                        .out = {to, cip}});
      } else {
        kernels_.copy_pixels(from, out.width, cip, {to, cip});
      }
    }
  }
  if (weight_gradients) {
    kernels_.depthwise_weights({.pairs = {.in = {input, unit.stride_h * row},
                                          .gradient = {between, between_row},
                                          .rows = out.height,
                                          .pixels = out.width},
                                .taps = taps,
                                .grid = grid,
                                .step = step,
                                .c = cip,
                                .gradients = weight_gradients + run_.packing_.depthwise_gradient(index)});
  }
  if (!input_gradient) return;
  if (strided) {
    for (int y = 0; y < out.height; ++y)
      kernels_.depthwise_scatter({.out_gradient = between + y * between_row,
                                  .taps = taps,
                                  .grid = grid,
                                  .step = step,
                                  .weights = depthwise_weights,
                                  .pixels = out.width,
                                  .c = cip,
                                  .in_gradient = input_gradient + y * unit.stride_h * row});
    return;
  }
  const Taps turned = scratch.tap_offsets(unit.depthwise, between_row, cip, -1);
  kernels_.depthwise({.in = {between, between_row},
                      .taps = turned,
                      .grid = grid,
                      .step = cip,
                      .weights = depthwise_weights,
                      .rows = in.height,
                      .pixels = in.width,
                      .c = cip,
                      .add = add,
                      .out = {input_gradient, row}});
}

void CellBackward::dense(int index, int n, int thread, ConstNumbers input, float* input_gradient, bool add,
                         float* weight_gradients) {
  const Unit& unit = program_.units[index];
  Scratch& scratch = *run_.scratch_[thread];
  const auto& [in, out, halo, ci, cip, cop, row, step, strided] = shape_of(index);
  const ConstNumbers transposed = run_.packing_.transposed(index, run_.packed_.data());
  const Halo around = strided ? Halo{} : halo;
  const ConstNumbers ready = around == Halo{} ? ready_gradient(thread) : nullptr;
  const Rows<Stored> frame = ready ? Rows<Stored>{} : scratch.between.around(out, cop, around, program_.precision);
  const ConstNumbers gradient = ready ? ready : ConstNumbers(frame.pixels);
  const ptrdiff_t gradient_row = ready ? static_cast<ptrdiff_t>(out.width) * cop : frame.row;
  const Taps taps = scratch.tap_offsets(unit.dense, row, cip);
  for (int y = 0; y < out.height; ++y) {
    if (!ready)
      output_gradient(unit.output, n, thread, static_cast<size_t>(y) * out.width, out.width,
                      frame.pixels + y * frame.row);
    if (!input_gradient || !strided) continue;
    const ConstNumbers from = gradient + y * gradient_row;
    // One tap after the other: what it sends back lands `step` apart.
    for (int t = 0; t < taps.count; ++t) {
      kernels_.dense({.in = from,
                      .taps = kOneTap,
                      .step = cop,
                      .ci = out.channels,
                      .weights = transposed + t * run_.packing_.tap_numbers(out.channels, cip),
                      .pixels = out.width,
                      .co = cip,
                      .out = {Numbers(scratch.rows), cip}});
      kernels_.add_strided(scratch.rows, out.width, cip,
                           {input_gradient + y * unit.stride_h * row + taps.offsets[t], step});
    }
  }
  float* weight_gradient = weight_gradients ? weight_gradients + run_.packing_.dense_gradient(index) : nullptr;
  // Norms of single images' gradients are not those at Winograd's points, so taps have to do.
  const bool winograd_form = run_.packing_.unit(index).winograd, points = winograd_form && !call_.samples;
  if (winograd_form) {
    if (weight_gradient && points)
      winograd_weights(kernels_,
                       {.in = {input.as<float>() + taps.offsets[0], row},
                        .ci = ci,
                        .rows = out.height,
                        .width = out.width,
                        .co = out.channels,
                        .scratch = scratch.tiles},
                       {gradient.as<float>(), gradient_row}, weight_gradient);
    if (input_gradient)
      winograd(kernels_,
               {.in = {gradient.as<float>() - gradient_row - cop, gradient_row},
                .ci = out.channels,
                .rows = in.height,
                .width = in.width,
                .co = ci,
                .scratch = scratch.tiles},
               transposed.as<float>(), add, {input_gradient, row});
  }
  if (weight_gradient && !points)
    kernels_.dense_weights({.pairs = {.in = {input, unit.stride_h * row},
                                      .gradient = {gradient, gradient_row},
                                      .rows = out.height,
                                      .pixels = out.width},
                            .taps = taps,
                            .step = step,
                            .ci = ci,
                            .co = cop,
                            .gradients = weight_gradient});
  if (!input_gradient || strided || winograd_form) return;
  const Taps turned = scratch.tap_offsets(unit.dense, gradient_row, cop, -1);
  for (int y = 0; y < in.height; ++y) {
    float* to = input_gradient + y * row;
    kernels_.dense({.in = gradient + y * gradient_row,
                    .taps = turned,
                    .step = cop,
                    .ci = out.channels,
                    .weights = transposed,
                    .pixels = in.width,
                    .co = cip,
                    .start = add ? Start{to, cip} : Start{},
                    .out = {to, cip}});
  }
}

}  // namespace nascent::kernels
