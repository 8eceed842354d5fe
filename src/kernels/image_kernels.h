// The arithmetic of the engine: what is done to one image (or some of its rows), on plain pointers.
//
// Images are stored channels last. `c`, `ci` and `co` are numbers of channels, padded with zeros to a multiple of four:
// kernels take them in long vectors, then in shorter ones, and no kernel has a tail. A convolution is a list of taps:
// offsets in floats from the place of an output pixel in its (padded) input to the pixels that are multiplied and
// added.
#pragma once

#include <cstddef>

namespace nascent::kernels {

// Rows of an image: `pixels` points at the first, the next is `row` floats on.
template <class Float>
struct Rows {
  Float* pixels;
  ptrdiff_t row;
};

struct Taps {
  const ptrdiff_t* offsets = nullptr;
  int count = 0;
};

// What sums over pixels begin with; those of the next pixel begin `pixel` floats on (0: all alike). Null: zero.
struct Start {
  const float* values = nullptr;
  ptrdiff_t pixel = 0;

  Start after(ptrdiff_t pixels) const { return {values ? values + pixels * pixel : nullptr, pixel}; }
  Start from_channel(int channel) const { return {values ? values + channel : nullptr, pixel}; }
};

// A window of a pool.
struct Window {
  int height = 3, width = 3;  // of the window
  int stride_h = 1, stride_w = 1;
  int padding_h = 1, padding_w = 1;
};

// One summand of a mixture: weight * relu(scale * value + shift), or scale * value + shift where `relu` is not set (the
// weight is then part of both).
struct MixTerm {
  const float* value = nullptr;   // first channel of the first pixel
  ptrdiff_t pixel = 0;            // floats from a pixel to the next
  const float* scale = nullptr;   // per channel
  const float* shift = nullptr;   // per channel; only read where `relu` is set
  const float* centre = nullptr;  // per channel, subtracted from the value in reductions; null: zero
  float weight = 1;
  bool relu = false;
};

// A gradient that flows into a value through one mixture or unit: scale * gradient, or zero where
// relu_scale * value + relu_shift <= 0 if that is set.
struct Inflow {
  const float* gradient = nullptr;
  const float* scale = nullptr;
  float weight = 1;
  const float* relu_scale = nullptr;
  const float* relu_shift = nullptr;
};

struct ImageKernels {
  // out, of h rows of w pixels of c channels, becomes relu(scale * x + shift). `pixel` is the distance of pixels in x,
  // of which `channels` are read, `row` that of rows in out. scale may be null (then shift is not read).
  void (*pad)(const float* x, ptrdiff_t pixel, int channels, int h, int w, const float* scale, const float* shift,
              bool relu, float* out, int c, ptrdiff_t row);

  // out[i] = sum_t weights[t] * in[i * step + t] for `rows` rows of `pixels` pixels of c channels; added to out if
  // `add`.
  void (*depthwise)(Rows<const float> in, Taps taps, const float* weights, ptrdiff_t step, int rows, int pixels, int c,
                    bool add, Rows<float> out);
  // out[i][o] = start[i][o] + sum_t,k weights[t][k][o] * in[i * step + t][k]; `ci` inputs, `co` outputs.
  void (*dense)(const float* in, Taps taps, int ci, const float* weights, ptrdiff_t step, int pixels, int co,
                Start start, float* out, ptrdiff_t out_pixel);

  // gradients[t] += sum_i in[i * step + t] * out_gradient[i], over `rows` rows of `pixels` pixels; rows of the input
  // that belong to successive rows of the gradient are `in_row` floats apart.
  void (*depthwise_weights)(const float* in, ptrdiff_t in_row, Taps taps, ptrdiff_t step, const float* out_gradient,
                            ptrdiff_t gradient_row, int rows, int pixels, int c, float* gradients);
  // gradients[t][k][o] += sum_i in[i * step + t][k] * out_gradient[i][o], likewise
  void (*dense_weights)(const float* in, ptrdiff_t in_row, Taps taps, int ci, ptrdiff_t step, const float* out_gradient,
                        ptrdiff_t gradient_row, int rows, int pixels, int co, float* gradients);

  // in_gradient[i * step + t] += weights[t] * out_gradient[i]: the transpose of depthwise, for steps beyond one pixel.
  void (*depthwise_scatter)(const float* out_gradient, Taps taps, const float* weights, ptrdiff_t step, int pixels,
                            int c, float* in_gradient);
  // to[i * step] += from[i]
  void (*add_strided)(const float* from, int pixels, int c, float* to, ptrdiff_t step);

  // Between rows of pixels and the six points of winograd.h: `tiles` groups of four pixels a row; a plane of
  // rows x tiles x c floats for each point.
  void (*inputs_to_points)(const float* in, ptrdiff_t row, int rows, int tiles, int c, float* points);
  void (*points_to_outputs)(const float* points, int rows, int tiles, int c, bool add, float* out, ptrdiff_t row);
  void (*gradients_to_points)(const float* gradient, ptrdiff_t row, int rows, int tiles, int c, float* points);

  void (*max_pool)(const float* x, ptrdiff_t pixel, int h, int w, int c, const Window& window, float* out);
  void (*avg_pool)(const float* x, ptrdiff_t pixel, int h, int w, int c, const Window& window, float* out);
  // Add to in_gradient, whose pixels are `gradient_pixel` apart.
  void (*max_pool_backward)(const float* x, ptrdiff_t pixel, int h, int w, int c, const Window& window,
                            const float* out, const float* out_gradient, float* in_gradient, ptrdiff_t gradient_pixel);
  void (*avg_pool_backward)(int h, int w, int c, const Window& window, const float* out_gradient, float* in_gradient,
                            ptrdiff_t gradient_pixel);

  // Copies past the caches, for what is not read again soon; both are aligned to vectors. end_streams() makes it
  // visible to other threads.
  void (*stream)(const float* from, size_t floats, float* to);
  void (*end_streams)();

  // sums[0..c) += sum of (x - shift), sums[c..2c) += sum of (x - shift)^2
  void (*moments)(const float* x, size_t pixels, int c, const float* shift, float* sums);

  // out = bias + sum of terms; its pixels are `out_pixel` apart.
  void (*mix)(const MixTerm* terms, int count, const float* bias, size_t pixels, int c, float* out,
              ptrdiff_t out_pixel);
  // sums[0..c) = sum of g; then for each term two rows of c: the sum of g and the sum of g * (value - centre), where
  // its relu lets g pass (for terms without relu the first row is left unset).
  void (*mix_sums)(const float* g, const MixTerm* terms, int count, size_t pixels, int c, float* sums);

  // out = sum of inflows + value_scale * (value - centre) + constant; the last two are left out where value_scale is
  // null.
  void (*combine)(const Inflow* inflows, int count, const float* value, const float* centre, const float* value_scale,
                  const float* constant, size_t pixels, int c, float* out);

  // to += weight * from, c channels of pixels that lie `to_pixel` and `from_pixel` apart.
  void (*add_scaled)(const float* from, ptrdiff_t from_pixel, float weight, size_t pixels, int c, float* to,
                     ptrdiff_t to_pixel);
  // to = from, all c channels of pixels that are to lie `to_pixel` apart.
  void (*copy_pixels)(const float* from, size_t pixels, int c, float* to, ptrdiff_t to_pixel);
  // Partial channels: channel j * groups + g of `whole` is channel j of group g. The first group lies in `first`, the
  // others one behind the other in `rest`. Channels up to a multiple of four become zero.
  void (*join_groups)(const float* first, ptrdiff_t first_pixel, const float* rest, ptrdiff_t rest_pixel, size_t pixels,
                      int channels, int groups, float* whole, ptrdiff_t pixel);
  void (*split_groups)(const float* whole, ptrdiff_t pixel, size_t pixels, int channels, int groups, float* first,
                       ptrdiff_t first_pixel, float* rest, ptrdiff_t rest_pixel);
  // From the gradient of what was read to that of the value: to = from where relu(scale * value + shift) is active
  // (everywhere where the read has no relu), else zero; added to what is there if `add`. `from` lies in an image whose
  // rows are `row` floats apart. The scale may be null, the weight of the term is not read.
  void (*pass_back)(const float* from, ptrdiff_t row, MixTerm read, int h, int w, int c, bool add, float* to,
                    ptrdiff_t to_pixel);
  // The same, written past the caches where that can be, for an image without gaps; sums[0..c) is the sum of it,
  // sums[c..2c) that of its product with value - centre.
  void (*pass_back_and_sum)(const float* from, ptrdiff_t row, MixTerm read, int h, int w, int c, bool past_caches,
                            float* to, float* sums);
};

// Those of the instruction set in use.
const ImageKernels& image_kernels();

// Channels as they are stored.
inline int padded(int channels) { return (channels + 3) / 4 * 4; }

}  // namespace nascent::kernels
