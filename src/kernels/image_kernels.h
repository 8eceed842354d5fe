// The arithmetic of the engine: what is done to one image (or some of its rows), on plain pointers.
//
// Images are stored channels last. `c`, `ci` and `co` are numbers of channels, padded with zeros to a multiple of four:
// kernels take them in long vectors, then in shorter ones, and no kernel has a tail. A convolution is a list of taps:
// offsets from the place of an output pixel in its (padded) input to the pixels that are multiplied and added.
//
// Images are of floats or, where `Stored` says so, of either kind of numbers; offsets and distances count numbers.
// Kernels compute in floats: what they load is widened, what they store is rounded.
#pragma once

#include <cstddef>
#include <span>

#include "nascent/kernels/numbers.h"

namespace nascent::kernels {

// Rows of an image: `pixels` points at the first, the next is `row` numbers on.
template <class Number>
struct Rows {
  At<Number> pixels;
  ptrdiff_t row;
};

// Pixels of an image: `first` points at the first, the next is `pixel` numbers on.
template <class Number>
struct Pixels {
  At<Number> first;
  ptrdiff_t pixel;
};

struct Taps {
  const ptrdiff_t* offsets = nullptr;
  int count = 0;
};

// What sums over pixels begin with; those of the next pixel begin `pixel` numbers on (0: all alike, and floats). Null:
// zero.
struct Start {
  ConstNumbers values = nullptr;
  ptrdiff_t pixel = 0;

  Start after(ptrdiff_t pixels) const { return {values ? values + pixels * pixel : nullptr, pixel}; }
  Start from_channel(int channel) const { return {values ? values + channel : nullptr, pixel}; }
};

// out, of h rows of w pixels of c channels, becomes relu(scale * x + shift).
struct Padding {
  Pixels<const Stored> x;
  int channels;  // of x that are read
  int h, w;
  const float* scale = nullptr;  // null: one, and shift is not read
  const float* shift = nullptr;
  bool relu = false;
  Rows<Stored> out;
  int c;
};

// Taps of a depthwise convolution: `height` rows of `width`, `dilation` pixels from one to the next.
struct Grid {
  int height = 1, width = 1, dilation = 1;
  int stride_h = 1, stride_w = 1;  // of the convolution
};

// Depthwise weights of bf16 lie in pairs of rows: [row][column][channel][2], each with the one below it. Before the
// first and behind the last weight there are zeros, so that the kernel can begin with either row of a pair of the
// input.
constexpr int kZeroRows = 2;
inline int paired_rows(int height) { return height + kZeroRows + 1; }

// out[i] = sum_t weights[t] * in[i * step + t] for `rows` rows of `pixels` pixels of c channels. Weights are of the
// kind of the inputs; the taps may be those of the grid turned around.
struct Depthwise {
  Rows<const Stored> in;
  Taps taps;
  Grid grid;
  ptrdiff_t step;
  ConstNumbers weights;
  int rows, pixels, c;
  bool add = false;  // to what is in out
  Rows<Stored> out;
};

// Weights of products of bf16 lie in pairs, which one instruction multiplies and adds up: [tap][input / 2][output][2],
// with inputs padded to a multiple of four and outputs to one of sixteen.
inline int paired_outputs(int co) { return (co + 15) / 16 * 16; }
inline ptrdiff_t pairs_in_tap(int ci, int co) { return static_cast<ptrdiff_t>((ci + 3) / 4 * 4) * paired_outputs(co); }

// out[i][o] = start[i][o] + sum_t,k weights[t][k][o] * in[i * step + t][k] for `pixels` pixels; `ci` inputs, `co`
// outputs. Weights are of the kind of the inputs.
struct Dense {
  ConstNumbers in;
  Taps taps;
  ptrdiff_t step;
  int ci;
  ConstNumbers weights;
  int pixels, co;
  Start start{};
  Pixels<Stored> out;

  // From a pixel and an output on, for so many pixels.
  Dense part(ptrdiff_t pixel, int output, int count) const {
    Dense rest = *this;
    rest.in += pixel * step;
    rest.weights += weights.precision() == Precision::single ? output : 2 * output;
    rest.pixels = count;
    rest.start = start.after(pixel).from_channel(output);
    rest.out.first += pixel * out.pixel + output;
    return rest;
  }
};

// Rows of an input and of the gradient of what was made from it: `rows` rows of `pixels` pixels.
template <class Number>
struct RowPairs {
  Rows<Number> in;  // `row` leads to the row that belongs to the next row of the gradient
  Rows<Number> gradient;
  int rows, pixels;
};

// gradients[t] += sum_i in[i * step + t] * gradient[i]; both are of one kind.
struct DepthwiseWeights {
  RowPairs<const Stored> pairs;
  Taps taps;
  Grid grid;
  ptrdiff_t step;
  int c;
  float* gradients;
};

// gradients[t][k][o] += sum_i in[i * step + t][k] * gradient[i][o]; both are of one kind.
struct DenseWeights {
  RowPairs<const Stored> pairs;
  Taps taps;
  ptrdiff_t step;
  int ci, co;
  float* gradients;
};

// in_gradient[i * step + t] += weights[t] * out_gradient[i]: the transpose of Depthwise, for steps beyond one pixel.
struct DepthwiseScatter {
  ConstNumbers out_gradient;
  Taps taps;
  Grid grid;
  ptrdiff_t step;
  ConstNumbers weights;
  int pixels, c;
  float* in_gradient;
};

// Groups of four pixels, `tiles` in each of `rows` rows. At each of the six points of winograd.h they have a plane of
// rows x tiles x c floats.
struct WinogradTiles {
  int rows, tiles, c;

  ptrdiff_t plane() const { return static_cast<ptrdiff_t>(rows) * tiles * c; }
};

// A window of a pool.
struct Window {
  int height = 3, width = 3;  // of the window
  int stride_h = 1, stride_w = 1;
  int padding_h = 1, padding_w = 1;
};

// What a pool reads: h rows of w pixels, of which it takes c channels.
struct PoolInput {
  Pixels<const Stored> x;
  int h, w, c;
  Window window;
};

// One summand of a mixture: weight * relu(scale * value + shift), or scale * value + shift where `relu` is not set (the
// weight is then part of both).
struct MixTerm {
  ConstNumbers value = nullptr;   // first channel of the first pixel
  ptrdiff_t pixel = 0;            // numbers from a pixel to the next
  const float* scale = nullptr;   // per channel
  const float* shift = nullptr;   // per channel; only read where `relu` is set
  const float* centre = nullptr;  // per channel, subtracted from the value in reductions; null: zero
  float weight = 1;
  bool relu = false;
};

// A gradient that flows into a value through one mixture or unit: scale * gradient, or zero where
// relu_scale * value + relu_shift <= 0 if that is set.
struct Inflow {
  ConstNumbers gradient = nullptr;
  const float* scale = nullptr;
  float weight = 1;
  const float* relu_scale = nullptr;
  const float* relu_shift = nullptr;
};

// out = sum of inflows + value_scale * (value - centre) + constant; the last two are left out where value_scale is
// null. Gradients and the value are of one kind.
struct Combination {
  std::span<const Inflow> inflows;
  ConstNumbers value;
  const float *centre, *value_scale, *constant;  // per channel
  size_t pixels;
  int c;
  Numbers out;
};

// Partial channels: channel j * groups + g of a whole is channel j of group g. The first group lies by itself, the
// others one behind the other.
struct Groups {
  size_t pixels;
  int channels, groups;
};

// From the gradient of what was read to that of the value: the gradient where relu(scale * value + shift) is active
// (everywhere where the read has no relu), else zero; h rows of w pixels of c channels. The scale may be null, the
// weight of the term is not read.
struct ReadGradient {
  Rows<const float> gradient;
  MixTerm read;
  int h, w, c;
};

struct SquaredNorms {
  double own = 0, distance = 0;
};

struct ImageKernels {
  void (*pad)(const Padding& padding);

  void (*depthwise)(const Depthwise& convolution);
  void (*dense)(const Dense& convolution);
  void (*depthwise_weights)(const DepthwiseWeights& sums);
  void (*dense_weights)(const DenseWeights& sums);
  void (*depthwise_scatter)(const DepthwiseScatter& scatter);
  // to[i] += from[i]
  void (*add_strided)(const float* from, int pixels, int c, Pixels<float> to);

  // Between rows of pixels and the points of winograd.h. `add`: to what is in out.
  void (*inputs_to_points)(Rows<const float> in, WinogradTiles tiles, float* points);
  void (*points_to_outputs)(const float* points, WinogradTiles tiles, bool add, Rows<float> out);
  void (*gradients_to_points)(Rows<const float> gradient, WinogradTiles tiles, float* points);

  void (*max_pool)(const PoolInput& input, Numbers out);
  void (*avg_pool)(const PoolInput& input, Numbers out);
  // Add to in_gradient. The pixels of the input of an average are not read.
  void (*max_pool_backward)(const PoolInput& input, ConstNumbers out, const float* out_gradient,
                            Pixels<float> in_gradient);
  void (*avg_pool_backward)(const PoolInput& input, const float* out_gradient, Pixels<float> in_gradient);

  // Copies past the caches, for what is not read again soon; both are of one kind and aligned to vectors. end_streams()
  // makes it visible to other threads.
  void (*stream)(ConstNumbers from, size_t numbers, Numbers to);
  void (*end_streams)();

  // sums[0..c) += sum of (x - shift), sums[c..2c) += sum of (x - shift)^2
  void (*moments)(ConstNumbers x, size_t pixels, int c, const float* shift, float* sums);

  // out = bias + sum of terms
  void (*mix)(std::span<const MixTerm> terms, const float* bias, size_t pixels, int c, Pixels<Stored> out);
  // sums[0..c) = sum of g; then for each term two rows of c: the sum of g and the sum of g * (value - centre), where
  // its relu lets g pass (for terms without relu the first row is left unset).
  void (*mix_sums)(ConstNumbers g, std::span<const MixTerm> terms, size_t pixels, int c, float* sums);

  void (*combine)(const Combination& combination);

  // to += weight * from
  void (*add_scaled)(Pixels<const Stored> from, float weight, size_t pixels, int c, Pixels<float> to);
  // to += from; the squared norm of `from`, and its squared distance from share * to as that was before.
  SquaredNorms (*add_and_compare)(const float* from, size_t floats, float share, float* to);
  // to = from
  void (*copy_pixels)(ConstNumbers from, size_t pixels, int c, Pixels<Stored> to);
  // Channels up to a multiple of four become zero.
  void (*join_groups)(const Groups& groups, Pixels<const Stored> first, Pixels<const Stored> rest,
                      Pixels<Stored> whole);
  void (*split_groups)(const Groups& groups, Pixels<const float> whole, Pixels<Stored> first, Pixels<Stored> rest);
  // `add`: to what is there.
  void (*pass_back)(const ReadGradient& read, bool add, Pixels<float> to);
  // The same, written past the caches where that can be, for an image without gaps; sums[0..c) is the sum of it,
  // sums[c..2c) that of its product with value - centre.
  void (*pass_back_and_sum)(const ReadGradient& read, bool past_caches, Numbers to, float* sums);
};

// Those of the instruction set in use.
const ImageKernels& image_kernels();

// Channels as they are stored.
inline int padded(int channels) { return (channels + 3) / 4 * 4; }

}  // namespace nascent::kernels
