// The kernels of image_kernels.h as templates over the vector type; included once per instruction set.
#if defined(NASCENT_IMAGE_KERNELS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef NASCENT_IMAGE_KERNELS_INL
#undef NASCENT_IMAGE_KERNELS_INL
#else
#define NASCENT_IMAGE_KERNELS_INL
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "kernels/image_kernels.h"
#include "kernels/memory.h"

// Loops over registers must vanish, or the arrays below live in memory.
#define NASCENT_UNROLL _Pragma("GCC unroll 32")

HWY_BEFORE_NAMESPACE();
namespace nascent::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Accumulators that fit into registers beside the operands.
constexpr int kAccumulators = HWY_TARGET <= HWY_AVX3 ? 24 : 12;

using Wide = hn::CappedTag<float, 16>;
constexpr int kWide = static_cast<int>(hn::MaxLanes(Wide()));

// Calls body(d, b) for the channels from `b` on: whole vectors, then halves and quarters of the longest ones.
template <class Body>
HWY_INLINE void for_blocks(int c, Body body, int b = 0) {
  for (; b + kWide <= c; b += kWide) body(Wide(), b);
  if constexpr (kWide > 8) {
    if (b + 8 <= c) {
      body(hn::CappedTag<float, 8>(), b);
      b += 8;
    }
  }
  if constexpr (kWide > 4) {
    if (b + 4 <= c) body(hn::CappedTag<float, 4>(), b);
  }
}

template <class D>
HWY_INLINE hn::Vec<D> relu(D d, hn::Vec<D> x) {
  return hn::Max(x, hn::Zero(d));
}

// Few channels leave most of a vector empty. Where pixels follow each other without gaps, a vector takes several of
// them at once: an image of fewer pixels with more channels, whose coefficients repeat.
HWY_INLINE int pixels_per_vector(int c, size_t pixels) {
  return (c == 4 || c == 8) && c < kWide && pixels % (kWide / c) == 0 ? kWide / c : 1;
}

// Four or eight channels, as often as a vector holds them.
HWY_INLINE void repeat(const float* from, int c, float* to) {
  if (c == 4) {
    hn::StoreU(hn::LoadDup128(Wide(), from), Wide(), to);
    return;
  }
  const hn::CappedTag<float, 8> d;
  for (int i = 0; i < kWide; i += 8) hn::StoreU(hn::LoadU(d, from), d, to + i);
}

struct Repeated {
  // Null stays null.
  HWY_INLINE const float* operator()(const float* from, int c) {
    if (!from) return nullptr;
    repeat(from, c, values);
    return values;
  }
  HWY_ALIGN float values[kWide];
};

// Adds up what belongs to the same channel.
HWY_INLINE void fold(const float* sums, int c, float* to) {
  for (int i = 0; i < kWide; i += c) {
    for (int k = 0; k < c; ++k) to[k] += sums[i + k];
  }
}

// Long sums are made of short ones, which lose less to rounding.
template <class D>
HWY_INLINE void add_to(D d, hn::Vec<D> sum, float* total) {
  hn::StoreU(hn::Add(hn::LoadU(d, total), sum), d, total);
}

// Kernels that stream through many values take so many floats of each at a time: few enough that what they share stays
// in the first cache, enough for the hardware to see that a value is read in order.
constexpr int kStretch = 4096;

// ---- padding

template <class D>
HWY_INLINE hn::Vec<D> load_first(D d, const float* p, int count) {
  if (count <= 0) return hn::Zero(d);  // a vector of padding
  return hn::MaskedLoad(hn::FirstN(d, static_cast<size_t>(count)), d, p);
}

HWY_INLINE void pad_row(const float* x, ptrdiff_t pixel, int channels, int w, const float* scale, const float* shift,
                        bool use_relu, float* out, int c) {
  for_blocks(c, [&](auto d, int b) {
    const int lanes = static_cast<int>(hn::Lanes(d)), here = std::min(lanes, channels - b);
    const auto a = scale ? hn::LoadU(d, scale + b) : hn::Set(d, 1.0f);
    const auto s = scale ? hn::LoadU(d, shift + b) : hn::Zero(d);
    const auto low = use_relu ? hn::Zero(d) : hn::Set(d, -std::numeric_limits<float>::infinity());
    for (int i = 0; i < w; ++i) {
      const float* p = x + i * pixel + b;
      const auto v = here == lanes ? hn::LoadU(d, p) : load_first(d, p, here);
      hn::StoreU(hn::Max(hn::MulAdd(a, v, s), low), d, out + static_cast<ptrdiff_t>(i) * c + b);
    }
  });
}

void pad(const float* x, ptrdiff_t pixel, int channels, int h, int w, const float* scale, const float* shift,
         bool use_relu, float* out, int c, int halo_h, int halo_w) {
  Repeated scales, shifts;
  if (const int together = pixel == c && channels == c ? pixels_per_vector(c, w) : 1; together > 1) {
    // Only the halo is still counted in pixels.
    const ptrdiff_t line = static_cast<ptrdiff_t>(w) * c, row = line + static_cast<ptrdiff_t>(2 * halo_w) * c;
    scale = scales(scale, c);
    shift = shifts(shift, c);
    std::fill_n(out, row * halo_h + halo_w * c, 0.0f);
    out += row * halo_h + halo_w * c;
    for (int y = 0; y < h; ++y, x += line, out += row) {
      pad_row(x, kWide, kWide, w / together, scale, shift, use_relu, out, kWide);
      std::fill_n(out + line, row - line, 0.0f);
    }
    std::fill_n(out, row * halo_h - halo_w * c, 0.0f);
    return;
  }
  const ptrdiff_t row = static_cast<ptrdiff_t>(w + 2 * halo_w) * c;
  const size_t side = static_cast<size_t>(halo_w) * c;
  std::fill_n(out, row * halo_h, 0.0f);
  for (int y = 0; y < h; ++y) {
    float* line = out + (y + halo_h) * row;
    std::fill_n(line, side, 0.0f);
    pad_row(x + static_cast<ptrdiff_t>(y) * w * pixel, pixel, channels, w, scale, shift, use_relu, line + side, c);
    std::fill_n(line + row - side, side, 0.0f);
  }
  std::fill_n(out + (h + halo_h) * row, row * halo_h, 0.0f);
}

// ---- depthwise convolution

// Two vectors of channels at a time where there are as many: neighbouring loads then fall into different banks of the
// cache.
template <int kPixels, int kVectors, class D>
HWY_INLINE void depthwise_tile(D d, const float* in, Taps taps, const float* weights, ptrdiff_t step, ptrdiff_t c,
                               bool add, float* out) {
  const ptrdiff_t lanes = hn::Lanes(d);
  hn::Vec<D> sum[kPixels][kVectors];
  NASCENT_UNROLL
  for (int p = 0; p < kPixels; ++p) {
    NASCENT_UNROLL
    for (int v = 0; v < kVectors; ++v) sum[p][v] = add ? hn::LoadU(d, out + p * c + v * lanes) : hn::Zero(d);
  }
  for (int t = 0; t < taps.count; ++t) {
    const float* x = in + taps.offsets[t];
    hn::Vec<D> w[kVectors];
    NASCENT_UNROLL
    for (int v = 0; v < kVectors; ++v) w[v] = hn::LoadU(d, weights + t * c + v * lanes);
    NASCENT_UNROLL
    for (int p = 0; p < kPixels; ++p) {
      NASCENT_UNROLL
      for (int v = 0; v < kVectors; ++v)
        sum[p][v] = hn::MulAdd(w[v], hn::LoadU(d, x + p * step + v * lanes), sum[p][v]);
    }
  }
  NASCENT_UNROLL
  for (int p = 0; p < kPixels; ++p) {
    NASCENT_UNROLL
    for (int v = 0; v < kVectors; ++v) hn::StoreU(sum[p][v], d, out + p * c + v * lanes);
  }
}

template <int kVectors, class D>
HWY_INLINE void depthwise_columns(D d, const float* in, Taps taps, const float* weights, ptrdiff_t step, int pixels,
                                  ptrdiff_t c, bool add, float* out) {
  constexpr int kPixels = 8 / kVectors;
  int i = 0;
  for (; i + kPixels <= pixels; i += kPixels)
    depthwise_tile<kPixels, kVectors>(d, in + i * step, taps, weights, step, c, add, out + i * c);
  for (; i < pixels; ++i) depthwise_tile<1, kVectors>(d, in + i * step, taps, weights, step, c, add, out + i * c);
}

HWY_INLINE void depthwise_row(const float* in, Taps taps, const float* weights, ptrdiff_t step, int pixels, int c,
                              bool add, float* out) {
  int b = 0;
  for (; b + 2 * kWide <= c; b += 2 * kWide)
    depthwise_columns<2>(Wide(), in + b, taps, weights + b, step, pixels, c, add, out + b);
  for_blocks(
      c, [&](auto d, int at) { depthwise_columns<1>(d, in + at, taps, weights + at, step, pixels, c, add, out + at); },
      b);
}

// Square kernels over neighbouring pixels, which is nearly all of them: every input pixel is loaded once per row of the
// kernel and used by all outputs that see it.
template <int kPixels, int kSide, int kDilation, class D>
HWY_INLINE void window_tile(D d, const float* in, const ptrdiff_t* rows, bool mirrored, const float* weights,
                            ptrdiff_t c, bool add, float* out) {
  hn::Vec<D> sum[kPixels];
  NASCENT_UNROLL
  for (int p = 0; p < kPixels; ++p) sum[p] = add ? hn::LoadU(d, out + p * c) : hn::Zero(d);
  for (int y = 0; y < kSide; ++y) {
    const float* x = in + rows[y];
    hn::Vec<D> w[kSide];
    NASCENT_UNROLL
    for (int k = 0; k < kSide; ++k) w[k] = hn::LoadU(d, weights + (y * kSide + (mirrored ? kSide - 1 - k : k)) * c);
    NASCENT_UNROLL
    for (int i = 0; i < kPixels + (kSide - 1) * kDilation; ++i) {
      const auto v = hn::LoadU(d, x + i * c);
      NASCENT_UNROLL
      for (int k = 0; k < kSide; ++k) {
        const int p = i - k * kDilation;
        if (p >= 0 && p < kPixels) sum[p] = hn::MulAdd(w[k], v, sum[p]);
      }
    }
  }
  NASCENT_UNROLL
  for (int p = 0; p < kPixels; ++p) hn::StoreU(sum[p], d, out + p * c);
}

template <int kSide, int kDilation>
HWY_INLINE void depthwise_window(const float* in, Taps taps, const float* weights, int pixels, ptrdiff_t c, bool add,
                                 float* out) {
  const bool mirrored = taps.offsets[1] < taps.offsets[0];
  ptrdiff_t rows[kSide];
  for (int y = 0; y < kSide; ++y) rows[y] = taps.offsets[y * kSide + (mirrored ? kSide - 1 : 0)];
  for_blocks(static_cast<int>(c), [&](auto d, int b) {
    int i = 0;
    const auto here = [&] { return out + i * c + b; };
    for (; i + 8 <= pixels; i += 8)
      window_tile<8, kSide, kDilation>(d, in + i * c + b, rows, mirrored, weights + b, c, add, here());
    for (; i + 4 <= pixels; i += 4)
      window_tile<4, kSide, kDilation>(d, in + i * c + b, rows, mirrored, weights + b, c, add, here());
    for (; i < pixels; ++i)
      window_tile<1, kSide, kDilation>(d, in + i * c + b, rows, mirrored, weights + b, c, add, here());
  });
}

// Rows of an input and of the gradient of what was made from it.
struct RowPairs {
  const float* in;
  ptrdiff_t in_row;  // floats to the row that belongs to the next row of the gradient
  const float* gradient;
  ptrdiff_t gradient_row;
  int rows, pixels;

  RowPairs at(ptrdiff_t channel) const {
    RowPairs shifted = *this;
    shifted.in += channel;
    shifted.gradient += channel;
    return shifted;
  }
};

// kTaps sums at a time stay in registers.
template <int kTaps, class D>
HWY_INLINE void depthwise_weights_tile(D d, const RowPairs& pairs, const ptrdiff_t* taps, ptrdiff_t step, int c,
                                       float* gradients) {
  hn::Vec<D> sum[kTaps];
  NASCENT_UNROLL
  for (int t = 0; t < kTaps; ++t) sum[t] = hn::Zero(d);
  for (int y = 0; y < pairs.rows; ++y) {
    const float *x = pairs.in + y * pairs.in_row, *gradient = pairs.gradient + y * pairs.gradient_row;
    for (int i = 0; i < pairs.pixels; ++i, x += step, gradient += c) {
      const auto g = hn::LoadU(d, gradient);
      NASCENT_UNROLL
      for (int t = 0; t < kTaps; ++t) sum[t] = hn::MulAdd(g, hn::LoadU(d, x + taps[t]), sum[t]);
    }
  }
  NASCENT_UNROLL
  for (int t = 0; t < kTaps; ++t) add_to(d, sum[t], gradients + t * c);
}

// Side and dilation of a square kernel whose taps are neighbours; {0, 0} where they are not.
struct Square {
  int side = 0, dilation = 0;
};

HWY_INLINE Square square_of(Taps taps, ptrdiff_t step, ptrdiff_t c) {
  if (step != c || (taps.count != 9 && taps.count != 25)) return {};
  const ptrdiff_t apart = std::abs(taps.offsets[1] - taps.offsets[0]);
  if (apart != c && apart != 2 * c) return {};
  return {taps.count == 9 ? 3 : 5, static_cast<int>(apart / c)};
}

// Calls body(side, dilation) with compile-time constants; false where the kernel is not such a square.
template <class Body>
HWY_INLINE bool with_square(Square square, Body body) {
  using One = std::integral_constant<int, 1>;
  using Two = std::integral_constant<int, 2>;
  using Three = std::integral_constant<int, 3>;
  using Five = std::integral_constant<int, 5>;
  if (square.side == 0) return false;
  if (square.side == 3 && square.dilation == 1) return body(Three(), One()), true;
  if (square.side == 3) return body(Three(), Two()), true;
  if (square.dilation == 1) return body(Five(), One()), true;
  return body(Five(), Two()), true;
}

void depthwise(const float* in, Taps taps, const float* weights, ptrdiff_t step, int pixels, int c, bool add,
               float* out) {
  const bool done = with_square(square_of(taps, step, c), [&](auto side, auto dilation) {
    depthwise_window<side(), dilation()>(in, taps, weights, pixels, c, add, out);
  });
  if (!done) depthwise_row(in, taps, weights, step, pixels, c, add, out);
}

void depthwise_weights(const float* in, ptrdiff_t in_row, Taps taps, ptrdiff_t step, const float* out_gradient,
                       ptrdiff_t gradient_row, int rows, int pixels, int c, float* gradients) {
  const RowPairs all = {in, in_row, out_gradient, gradient_row, rows, pixels};
  for_blocks(c, [&](auto d, int b) {
    const RowPairs pairs = all.at(b);
    int t = 0;
    const auto at = [&](int tap) { return gradients + static_cast<ptrdiff_t>(tap) * c + b; };
    for (; t + 9 <= taps.count; t += 9) depthwise_weights_tile<9>(d, pairs, taps.offsets + t, step, c, at(t));
    for (; t + 7 <= taps.count; t += 7) depthwise_weights_tile<7>(d, pairs, taps.offsets + t, step, c, at(t));
    for (; t < taps.count; ++t) depthwise_weights_tile<1>(d, pairs, taps.offsets + t, step, c, at(t));
  });
}

void depthwise_scatter(const float* out_gradient, Taps taps, const float* weights, ptrdiff_t step, int pixels, int c,
                       float* in_gradient) {
  for (int t = 0; t < taps.count; ++t) {
    for_blocks(c, [&](auto d, int b) {
      const auto w = hn::LoadU(d, weights + static_cast<ptrdiff_t>(t) * c + b);
      float* to = in_gradient + taps.offsets[t] + b;
      const float* g = out_gradient + b;
      for (int i = 0; i < pixels; ++i, to += step, g += c)
        hn::StoreU(hn::MulAdd(w, hn::LoadU(d, g), hn::LoadU(d, to)), d, to);
    });
  }
}

void add_strided(const float* from, int pixels, int c, float* to, ptrdiff_t step) {
  for (int i = 0; i < pixels; ++i, from += c, to += step) {
    for_blocks(c, [&](auto d, int b) { hn::StoreU(hn::Add(hn::LoadU(d, from + b), hn::LoadU(d, to + b)), d, to + b); });
  }
}

// ---- dense convolution: a matrix product whose rows are pixels

template <int kPixels, int kVectors, class D>
HWY_INLINE void dense_tile(D d, const float* in, Taps taps, int ci, const float* weights, ptrdiff_t step, int co,
                           bool add, float* out) {
  const ptrdiff_t lanes = hn::Lanes(d);
  hn::Vec<D> sum[kPixels][kVectors];
  NASCENT_UNROLL
  for (int p = 0; p < kPixels; ++p) {
    NASCENT_UNROLL
    for (int v = 0; v < kVectors; ++v)
      sum[p][v] = add ? hn::LoadU(d, out + static_cast<ptrdiff_t>(p) * co + v * lanes) : hn::Zero(d);
  }
  for (int t = 0; t < taps.count; ++t) {
    const float* x = in + taps.offsets[t];
    for (int k = 0; k < ci; ++k, weights += co) {
      hn::Vec<D> w[kVectors];
      NASCENT_UNROLL
      for (int v = 0; v < kVectors; ++v) w[v] = hn::LoadU(d, weights + v * lanes);
      NASCENT_UNROLL
      for (int p = 0; p < kPixels; ++p) {
        const auto value = hn::Set(d, x[p * step + k]);
        NASCENT_UNROLL
        for (int v = 0; v < kVectors; ++v) sum[p][v] = hn::MulAdd(value, w[v], sum[p][v]);
      }
    }
  }
  NASCENT_UNROLL
  for (int p = 0; p < kPixels; ++p) {
    NASCENT_UNROLL
    for (int v = 0; v < kVectors; ++v) hn::StoreU(sum[p][v], d, out + static_cast<ptrdiff_t>(p) * co + v * lanes);
  }
}

template <int kVectors, class D>
HWY_INLINE void dense_columns(D d, const float* in, Taps taps, int ci, const float* weights, ptrdiff_t step, int pixels,
                              int co, bool add, float* out) {
  constexpr int kPixels = kAccumulators / kVectors;
  int i = 0;
  const auto here = [&] { return out + static_cast<ptrdiff_t>(i) * co; };
  // Eight is better as four and four than as six and two.
  for (; pixels - i >= kPixels && !(kPixels == 6 && pixels - i == 8); i += kPixels)
    dense_tile<kPixels, kVectors>(d, in + i * step, taps, ci, weights, step, co, add, here());
  if constexpr (kPixels > 8) {
    for (; pixels - i >= 8; i += 8) dense_tile<8, kVectors>(d, in + i * step, taps, ci, weights, step, co, add, here());
  }
  for (; pixels - i >= 4; i += 4) dense_tile<4, kVectors>(d, in + i * step, taps, ci, weights, step, co, add, here());
  for (; pixels - i >= 2; i += 2) dense_tile<2, kVectors>(d, in + i * step, taps, ci, weights, step, co, add, here());
  for (; i < pixels; ++i) dense_tile<1, kVectors>(d, in + i * step, taps, ci, weights, step, co, add, here());
}

// Four inputs and four outputs: a vector holds several pixels, and each input is spread over the outputs of its pixel.
template <int kVectors>
HWY_INLINE void dense_quads(const float* in, Taps taps, const float* weights, bool add, float* out) {
  const Wide d;
  hn::Vec<Wide> sum[kVectors];
  NASCENT_UNROLL
  for (int v = 0; v < kVectors; ++v) sum[v] = add ? hn::LoadU(d, out + v * kWide) : hn::Zero(d);
  for (int t = 0; t < taps.count; ++t, weights += 4 * kWide) {
    const auto w0 = hn::LoadU(d, weights), w1 = hn::LoadU(d, weights + kWide), w2 = hn::LoadU(d, weights + 2 * kWide),
               w3 = hn::LoadU(d, weights + 3 * kWide);
    NASCENT_UNROLL
    for (int v = 0; v < kVectors; ++v) {
      const auto x = hn::LoadU(d, in + taps.offsets[t] + v * kWide);
      sum[v] = hn::MulAdd(hn::Broadcast<0>(x), w0, sum[v]);
      sum[v] = hn::MulAdd(hn::Broadcast<1>(x), w1, sum[v]);
      sum[v] = hn::MulAdd(hn::Broadcast<2>(x), w2, sum[v]);
      sum[v] = hn::MulAdd(hn::Broadcast<3>(x), w3, sum[v]);
    }
  }
  NASCENT_UNROLL
  for (int v = 0; v < kVectors; ++v) hn::StoreU(sum[v], d, out + v * kWide);
}

HWY_INLINE bool dense_in_quads(const float* in, Taps taps, int ci, const float* weights, ptrdiff_t step, int pixels,
                               int co, bool add, float* out) {
  if constexpr (kWide < 8) {
    return false;
  } else {
    constexpr int kMostTaps = 9;
    if (ci != 4 || co != 4 || step != 4 || pixels_per_vector(4, pixels) == 1 || taps.count > kMostTaps) return false;
    HWY_ALIGN float repeated[kMostTaps * 4 * kWide];
    for (int k = 0; k < 4 * taps.count; ++k) repeat(weights + 4 * k, 4, repeated + k * kWide);
    int i = 0;
    for (; i + kWide <= pixels; i += kWide) dense_quads<4>(in + 4 * i, taps, repeated, add, out + 4 * i);
    for (; i < pixels; i += kWide / 4) dense_quads<1>(in + 4 * i, taps, repeated, add, out + 4 * i);
    return true;
  }
}

void dense(const float* in, Taps taps, int ci, const float* weights, ptrdiff_t step, int pixels, int co, bool add,
           float* out) {
  if (dense_in_quads(in, taps, ci, weights, step, pixels, co, add, out)) return;
  int b = 0;
  for (; b + 2 * kWide <= co; b += 2 * kWide)
    dense_columns<2>(Wide(), in, taps, ci, weights + b, step, pixels, co, add, out + b);
  for_blocks(
      co, [&](auto d, int at) { dense_columns<1>(d, in, taps, ci, weights + at, step, pixels, co, add, out + at); }, b);
}

template <int kInputs, int kVectors, class D>
HWY_INLINE void dense_weights_tile(D d, const RowPairs& pairs, ptrdiff_t step, int co, float* gradients) {
  const ptrdiff_t lanes = hn::Lanes(d);
  hn::Vec<D> sum[kInputs][kVectors];
  NASCENT_UNROLL
  for (int k = 0; k < kInputs; ++k) {
    NASCENT_UNROLL
    for (int v = 0; v < kVectors; ++v) sum[k][v] = hn::Zero(d);
  }
  for (int y = 0; y < pairs.rows; ++y) {
    const float *in = pairs.in + y * pairs.in_row, *gradient = pairs.gradient + y * pairs.gradient_row;
    for (int i = 0; i < pairs.pixels; ++i, in += step, gradient += co) {
      hn::Vec<D> g[kVectors];
      NASCENT_UNROLL
      for (int v = 0; v < kVectors; ++v) g[v] = hn::LoadU(d, gradient + v * lanes);
      NASCENT_UNROLL
      for (int k = 0; k < kInputs; ++k) {
        const auto value = hn::Set(d, in[k]);
        NASCENT_UNROLL
        for (int v = 0; v < kVectors; ++v) sum[k][v] = hn::MulAdd(value, g[v], sum[k][v]);
      }
    }
  }
  NASCENT_UNROLL
  for (int k = 0; k < kInputs; ++k) {
    NASCENT_UNROLL
    for (int v = 0; v < kVectors; ++v) add_to(d, sum[k][v], gradients + static_cast<ptrdiff_t>(k) * co + v * lanes);
  }
}

template <int kVectors, class D>
HWY_INLINE void dense_weights_columns(D d, RowPairs pairs, int ci, ptrdiff_t step, int co, float* gradients) {
  constexpr int kInputs = kAccumulators / kVectors;
  int k = 0;
  const auto next = [&](int inputs) {
    k += inputs;
    pairs.in += inputs;
    gradients += static_cast<ptrdiff_t>(inputs) * co;
  };
  for (; ci - k >= kInputs && !(kInputs == 6 && ci - k == 8); next(kInputs))
    dense_weights_tile<kInputs, kVectors>(d, pairs, step, co, gradients);
  for (; ci - k >= 4; next(4)) dense_weights_tile<4, kVectors>(d, pairs, step, co, gradients);
  for (; k < ci; next(1)) dense_weights_tile<1, kVectors>(d, pairs, step, co, gradients);
}

void dense_weights(const float* in, ptrdiff_t in_row, Taps taps, int ci, ptrdiff_t step, const float* out_gradient,
                   ptrdiff_t gradient_row, int rows, int pixels, int co, float* gradients) {
  for (int t = 0; t < taps.count; ++t, gradients += static_cast<ptrdiff_t>(ci) * co) {
    const auto pairs = [&](int b) {
      return RowPairs{in + taps.offsets[t], in_row, out_gradient + b, gradient_row, rows, pixels};
    };
    int b = 0;
    for (; b + 2 * kWide <= co; b += 2 * kWide) dense_weights_columns<2>(Wide(), pairs(b), ci, step, co, gradients + b);
    for_blocks(
        co, [&](auto d, int at) { dense_weights_columns<1>(d, pairs(at), ci, step, co, gradients + at); }, b);
  }
}

// ---- Winograd's points: 0, 1, -1, 2, -2 and infinity

// Calls body(d, pixel, point) for all tiles: where its pixels and its first point are.
template <class Float, class Points, class Body>
HWY_INLINE void for_tiles(Float* pixels, ptrdiff_t row, int rows, int tiles, int c, Points* points, Body body) {
  for (int y = 0; y < rows; ++y, pixels += row) {
    for (int j = 0; j < tiles; ++j, points += c)
      for_blocks(c, [&](auto d, int b) { body(d, pixels + static_cast<ptrdiff_t>(4 * j) * c + b, points + b); });
  }
}

void inputs_to_points(const float* in, ptrdiff_t row, int rows, int tiles, int c, float* points) {
  const ptrdiff_t plane = static_cast<ptrdiff_t>(rows) * tiles * c;
  for_tiles(in, row, rows, tiles, c, points, [&](auto d, const float* x, float* to) {
    const auto four = hn::Set(d, 4.0f), five = hn::Set(d, 5.0f);
    const auto x0 = hn::LoadU(d, x), x1 = hn::LoadU(d, x + c), x2 = hn::LoadU(d, x + 2 * c);
    const auto x3 = hn::LoadU(d, x + 3 * c), x4 = hn::LoadU(d, x + 4 * c), x5 = hn::LoadU(d, x + 5 * c);
    const auto even = hn::NegMulAdd(four, x2, x4), odd = hn::NegMulAdd(four, x1, x3);
    const auto apart = hn::Sub(x4, x2), twice = hn::Add(hn::Sub(x3, x1), hn::Sub(x3, x1));
    hn::StoreU(hn::MulAdd(four, x0, hn::NegMulAdd(five, x2, x4)), d, to);
    hn::StoreU(hn::Add(even, odd), d, to + plane);
    hn::StoreU(hn::Sub(even, odd), d, to + 2 * plane);
    hn::StoreU(hn::Add(apart, twice), d, to + 3 * plane);
    hn::StoreU(hn::Sub(apart, twice), d, to + 4 * plane);
    hn::StoreU(hn::MulAdd(four, x1, hn::NegMulAdd(five, x3, x5)), d, to + 5 * plane);
  });
}

void points_to_outputs(const float* points, int rows, int tiles, int c, bool add, float* out, ptrdiff_t row) {
  const ptrdiff_t plane = static_cast<ptrdiff_t>(rows) * tiles * c;
  for_tiles(out, row, rows, tiles, c, points, [&](auto d, float* y, const float* from) {
    const auto p1 = hn::LoadU(d, from + plane), p2 = hn::LoadU(d, from + 2 * plane);
    const auto p3 = hn::LoadU(d, from + 3 * plane), p4 = hn::LoadU(d, from + 4 * plane);
    const auto near = hn::Add(p1, p2), far = hn::Add(p3, p4), near_apart = hn::Sub(p1, p2), far_apart = hn::Sub(p3, p4);
    const auto write = [&](int i, auto value) {
      hn::StoreU(add ? hn::Add(hn::LoadU(d, y + i * c), value) : value, d, y + i * c);
    };
    write(0, hn::Add(hn::Add(hn::LoadU(d, from), near), far));
    write(1, hn::MulAdd(hn::Set(d, 2.0f), far_apart, near_apart));
    write(2, hn::MulAdd(hn::Set(d, 4.0f), far, near));
    write(3, hn::Add(hn::MulAdd(hn::Set(d, 8.0f), far_apart, near_apart), hn::LoadU(d, from + 5 * plane)));
  });
}

void gradients_to_points(const float* gradient, ptrdiff_t row, int rows, int tiles, int c, float* points) {
  const ptrdiff_t plane = static_cast<ptrdiff_t>(rows) * tiles * c;
  for_tiles(gradient, row, rows, tiles, c, points, [&](auto d, const float* g, float* to) {
    const auto g0 = hn::LoadU(d, g), g1 = hn::LoadU(d, g + c), g2 = hn::LoadU(d, g + 2 * c);
    const auto g3 = hn::LoadU(d, g + 3 * c);
    const auto even = hn::Add(g0, g2), odd = hn::Add(g1, g3);
    const auto even_far = hn::MulAdd(hn::Set(d, 4.0f), g2, g0);
    const auto odd_far = hn::MulAdd(hn::Set(d, 8.0f), g3, hn::Add(g1, g1));
    hn::StoreU(g0, d, to);
    hn::StoreU(hn::Add(even, odd), d, to + plane);
    hn::StoreU(hn::Sub(even, odd), d, to + 2 * plane);
    hn::StoreU(hn::Add(even_far, odd_far), d, to + 3 * plane);
    hn::StoreU(hn::Sub(even_far, odd_far), d, to + 4 * plane);
    hn::StoreU(g3, d, to + 5 * plane);
  });
}

// ---- pools: padding counts neither as a maximum nor towards a mean

struct Span {
  int begin, end;
};

HWY_INLINE Span span_of(int at, int stride, int padding, int window, int size) {
  const int begin = at * stride - padding;
  return {std::max(begin, 0), std::min(begin + window, size)};
}

HWY_INLINE int pooled(int size, int stride, int padding, int window) {
  return (size + 2 * padding - window) / stride + 1;
}

// Calls body(rows, columns, output pixel) for every window.
template <class Body>
HWY_INLINE void for_windows(int h, int w, const Window& window, Body body) {
  const int out_h = pooled(h, window.stride_h, window.padding_h, window.height);
  const int out_w = pooled(w, window.stride_w, window.padding_w, window.width);
  ptrdiff_t to = 0;
  for (int y = 0; y < out_h; ++y) {
    const Span rows = span_of(y, window.stride_h, window.padding_h, window.height, h);
    for (int x = 0; x < out_w; ++x, ++to)
      body(rows, span_of(x, window.stride_w, window.padding_w, window.width, w), to);
  }
}

HWY_INLINE bool is_full_3x3(Span rows, Span columns) {
  return rows.end - rows.begin == 3 && columns.end - columns.begin == 3;
}

template <class D, class Step>
HWY_INLINE hn::Vec<D> fold_window(D d, const float* x, ptrdiff_t pixel, ptrdiff_t row, Span rows, Span columns,
                                  hn::Vec<D> start, Step step) {
  auto result = start;
  if (is_full_3x3(rows, columns)) {
    const float* p = x + rows.begin * row + columns.begin * pixel;
    NASCENT_UNROLL
    for (int i = 0; i < 3; ++i) {
      NASCENT_UNROLL
      for (int k = 0; k < 3; ++k) result = step(result, hn::LoadU(d, p + i * row + k * pixel));
    }
    return result;
  }
  for (int i = rows.begin; i < rows.end; ++i) {
    for (int k = columns.begin; k < columns.end; ++k) result = step(result, hn::LoadU(d, x + i * row + k * pixel));
  }
  return result;
}

void max_pool(const float* x, ptrdiff_t pixel, int h, int w, int c, const Window& window, float* out) {
  for_windows(h, w, window, [&](Span rows, Span columns, ptrdiff_t to) {
    for_blocks(c, [&](auto d, int b) {
      const auto lowest = hn::Set(d, -std::numeric_limits<float>::infinity());
      const auto most =
          fold_window(d, x + b, pixel, w * pixel, rows, columns, lowest, [](auto a, auto v) { return hn::Max(a, v); });
      hn::StoreU(most, d, out + to * c + b);
    });
  });
}

void avg_pool(const float* x, ptrdiff_t pixel, int h, int w, int c, const Window& window, float* out) {
  for_windows(h, w, window, [&](Span rows, Span columns, ptrdiff_t to) {
    const float share = 1.0f / static_cast<float>((rows.end - rows.begin) * (columns.end - columns.begin));
    for_blocks(c, [&](auto d, int b) {
      const auto sum = fold_window(d, x + b, pixel, w * pixel, rows, columns, hn::Zero(d),
                                   [](auto a, auto v) { return hn::Add(a, v); });
      hn::StoreU(hn::Mul(sum, hn::Set(d, share)), d, out + to * c + b);
    });
  });
}

// The first pixel of a window that holds its maximum takes the gradient, as in LibTorch.
void max_pool_backward(const float* x, ptrdiff_t pixel, int h, int w, int c, const Window& window, const float* out,
                       const float* out_gradient, float* in_gradient, ptrdiff_t gradient_pixel) {
  for_windows(h, w, window, [&](Span rows, Span columns, ptrdiff_t to) {
    for_blocks(c, [&](auto d, int b) {
      const auto most = hn::LoadU(d, out + to * c + b);
      auto left = hn::LoadU(d, out_gradient + to * c + b);
      for (int i = rows.begin; i < rows.end; ++i) {
        for (int k = columns.begin; k < columns.end; ++k) {
          const ptrdiff_t at = static_cast<ptrdiff_t>(i) * w + k;
          const auto here = hn::Eq(hn::LoadU(d, x + at * pixel + b), most);
          float* to_gradient = in_gradient + at * gradient_pixel + b;
          hn::StoreU(hn::Add(hn::LoadU(d, to_gradient), hn::IfThenElseZero(here, left)), d, to_gradient);
          left = hn::IfThenZeroElse(here, left);
        }
      }
    });
  });
}

void avg_pool_backward(int h, int w, int c, const Window& window, const float* out_gradient, float* in_gradient,
                       ptrdiff_t gradient_pixel) {
  for_windows(h, w, window, [&](Span rows, Span columns, ptrdiff_t to) {
    const float share = 1.0f / static_cast<float>((rows.end - rows.begin) * (columns.end - columns.begin));
    for_blocks(c, [&](auto d, int b) {
      const auto g = hn::Mul(hn::LoadU(d, out_gradient + to * c + b), hn::Set(d, share));
      for (int i = rows.begin; i < rows.end; ++i) {
        for (int k = columns.begin; k < columns.end; ++k) {
          float* to_gradient = in_gradient + (static_cast<ptrdiff_t>(i) * w + k) * gradient_pixel + b;
          hn::StoreU(hn::Add(hn::LoadU(d, to_gradient), g), d, to_gradient);
        }
      }
    });
  });
}

void stream(const float* from, size_t floats, float* to) {
  const Wide d;
  size_t i = 0;
  for (; i < floats && reinterpret_cast<uintptr_t>(to + i) % (kWide * sizeof(float)) != 0; ++i) to[i] = from[i];
  for (; i + kWide <= floats; i += kWide) hn::Stream(hn::LoadU(d, from + i), d, to + i);
  std::copy(from + i, from + floats, to + i);
}

// ---- sums over pixels

void moments(const float* x, size_t pixels, int c, const float* shift, float* sums) {
  if (const int together = pixels_per_vector(c, pixels); together > 1) {
    Repeated shifts;
    float wide[2 * kWide] = {};
    moments(x, pixels / together, kWide, shifts(shift, c), wide);
    fold(wide, c, sums);
    fold(wide + kWide, c, sums + c);
    return;
  }
  for_blocks(c, [&](auto d, int b) {
    using V = hn::Vec<decltype(d)>;
    const auto centre = hn::LoadU(d, shift + b);
    V sum[2] = {hn::Zero(d), hn::Zero(d)}, squares[2] = {hn::Zero(d), hn::Zero(d)};
    size_t i = 0;
    for (; i + 2 <= pixels; i += 2) {
      NASCENT_UNROLL
      for (int u = 0; u < 2; ++u) {
        const auto v = hn::Sub(hn::LoadU(d, x + (i + u) * c + b), centre);
        sum[u] = hn::Add(sum[u], v);
        squares[u] = hn::MulAdd(v, v, squares[u]);
      }
    }
    for (; i < pixels; ++i) {
      const auto v = hn::Sub(hn::LoadU(d, x + i * c + b), centre);
      sum[0] = hn::Add(sum[0], v);
      squares[0] = hn::MulAdd(v, v, squares[0]);
    }
    add_to(d, hn::Add(sum[0], sum[1]), sums + b);
    add_to(d, hn::Add(squares[0], squares[1]), sums + c + b);
  });
}

// ---- mixtures

// Adds to what is there where `bias` is null.
template <int kPixels, class D>
HWY_INLINE void mix_tile(D d, const MixTerm* terms, int count, const float* bias, size_t pixel, int b, int c,
                         float* out) {
  hn::Vec<D> sum[kPixels];
  NASCENT_UNROLL
  for (int p = 0; p < kPixels; ++p) sum[p] = bias ? hn::LoadU(d, bias + b) : hn::LoadU(d, out + (pixel + p) * c + b);
  for (int t = 0; t < count; ++t) {
    const MixTerm& term = terms[t];
    const auto a = hn::LoadU(d, term.scale + b);
    const float* x = term.value + static_cast<ptrdiff_t>(pixel) * term.pixel + b;
    if (term.relu) {
      const auto s = hn::LoadU(d, term.shift + b), w = hn::Set(d, term.weight);
      NASCENT_UNROLL
      for (int p = 0; p < kPixels; ++p)
        sum[p] = hn::MulAdd(w, relu(d, hn::MulAdd(a, hn::LoadU(d, x + p * term.pixel), s)), sum[p]);
    } else {
      NASCENT_UNROLL
      for (int p = 0; p < kPixels; ++p) sum[p] = hn::MulAdd(a, hn::LoadU(d, x + p * term.pixel), sum[p]);
    }
  }
  NASCENT_UNROLL
  for (int p = 0; p < kPixels; ++p) hn::StoreU(sum[p], d, out + (pixel + p) * c + b);
}

HWY_INLINE void mix_stretch(const MixTerm* terms, int count, const float* bias, size_t from, size_t to, int c,
                            float* out) {
  size_t i = from;
  for (; i + 8 <= to; i += 8) for_blocks(c, [&](auto d, int b) { mix_tile<8>(d, terms, count, bias, i, b, c, out); });
  for (; i < to; ++i) for_blocks(c, [&](auto d, int b) { mix_tile<1>(d, terms, count, bias, i, b, c, out); });
}

// Terms as they are where a vector takes several pixels.
template <int kMost>
struct WideTerms {
  HWY_INLINE WideTerms(const MixTerm* from, int count, int c) {
    for (int t = 0; t < count; ++t) {
      terms[t] = from[t];
      terms[t].pixel = kWide;
      terms[t].scale = scales[t](from[t].scale, c);
      terms[t].shift = shifts[t](from[t].shift, c);
      terms[t].centre = centres[t](from[t].centre, c);
    }
  }
  MixTerm terms[kMost];
  Repeated scales[kMost], shifts[kMost], centres[kMost];
};

HWY_INLINE int pixels_per_vector(const MixTerm* terms, int count, int c, size_t pixels) {
  const bool dense = std::all_of(terms, terms + count, [&](const MixTerm& term) { return term.pixel == c; });
  return dense ? pixels_per_vector(c, pixels) : 1;
}

// The hardware follows only so many values at once, so many terms are added up in groups.
void mix(const MixTerm* terms, int count, const float* bias, size_t pixels, int c, float* out) {
  constexpr int kAtOnce = 8;
  for (int t = 0; t == 0 || t < count; t += kAtOnce) {
    const int here = std::min(kAtOnce, count - t);
    const int together = pixels_per_vector(terms + t, here, c, pixels);
    const float* start = t == 0 ? bias : nullptr;
    if (together > 1) {
      const WideTerms<kAtOnce> wide(terms + t, here, c);
      Repeated biases;
      mix_stretch(wide.terms, here, biases(start, c), 0, pixels / together, kWide, out);
    } else {
      mix_stretch(terms + t, here, start, 0, pixels, c, out);
    }
  }
}

// Sums of one term over a stretch of pixels, added to `sums`.
template <class D>
HWY_INLINE void term_sums(D d, const float* g, const MixTerm& term, size_t from, size_t to, int b, int c, float* sums) {
  const auto centre = term.centre ? hn::LoadU(d, term.centre + b) : hn::Zero(d);
  const float* x = term.value + b;
  if (!term.relu) {
    hn::Vec<D> sum[4] = {hn::Zero(d), hn::Zero(d), hn::Zero(d), hn::Zero(d)};
    size_t i = from;
    for (; i + 4 <= to; i += 4) {
      NASCENT_UNROLL
      for (int u = 0; u < 4; ++u)
        sum[u] = hn::MulAdd(hn::LoadU(d, g + (i + u) * c + b),
                            hn::Sub(hn::LoadU(d, x + static_cast<ptrdiff_t>(i + u) * term.pixel), centre), sum[u]);
    }
    for (; i < to; ++i)
      sum[0] = hn::MulAdd(hn::LoadU(d, g + i * c + b),
                          hn::Sub(hn::LoadU(d, x + static_cast<ptrdiff_t>(i) * term.pixel), centre), sum[0]);
    add_to(d, hn::Add(hn::Add(sum[0], sum[1]), hn::Add(sum[2], sum[3])), sums + c + b);
    return;
  }
  const auto a = hn::LoadU(d, term.scale + b), s = hn::LoadU(d, term.shift + b);
  auto plain = hn::Zero(d), product = hn::Zero(d);
  for (size_t i = from; i < to; ++i) {
    const auto v = hn::LoadU(d, x + static_cast<ptrdiff_t>(i) * term.pixel);
    const auto active = hn::Gt(hn::MulAdd(a, v, s), hn::Zero(d));
    const auto passed = hn::IfThenElseZero(active, hn::LoadU(d, g + i * c + b));
    plain = hn::Add(plain, passed);
    product = hn::MulAdd(passed, hn::Sub(v, centre), product);
  }
  add_to(d, plain, sums + b);
  add_to(d, product, sums + c + b);
}

void mix_sums(const float* g, const MixTerm* terms, int count, size_t pixels, int c, float* sums) {
  if (const int together = pixels_per_vector(terms, count, c, pixels); together > 1) {
    std::fill_n(sums, static_cast<size_t>(2 * count + 1) * c, 0.0f);
    for (int t = 0; t < count; ++t) {
      const WideTerms<1> term(terms + t, 1, c);
      float wide[3 * kWide];
      mix_sums(g, term.terms, 1, pixels / together, kWide, wide);
      if (t == 0) fold(wide, c, sums);
      fold(wide + kWide, c, sums + static_cast<ptrdiff_t>(2 * t + 1) * c);
      fold(wide + 2 * kWide, c, sums + static_cast<ptrdiff_t>(2 * t + 2) * c);
    }
    return;
  }
  const size_t stretch = std::max<size_t>(kStretch / c, 8);
  std::fill_n(sums, static_cast<size_t>(2 * count + 1) * c, 0.0f);
  for (size_t from = 0; from < pixels; from += stretch) {
    const size_t to = std::min(from + stretch, pixels);
    for_blocks(c, [&](auto d, int b) {
      auto sum = hn::Zero(d);
      for (size_t i = from; i < to; ++i) sum = hn::Add(sum, hn::LoadU(d, g + i * c + b));
      add_to(d, sum, sums + b);
    });
    for (int t = 0; t < count; ++t) {
      // A new value begins: until the hardware has noticed, its first pixels are asked for.
      const MixTerm& next = terms[(t + 1) % count];
      fetch_ahead(next.value + static_cast<ptrdiff_t>(t + 1 < count ? from : to) * next.pixel, kStretch / 16);
      for_blocks(c, [&](auto d, int b) {
        term_sums(d, g, terms[t], from, to, b, c, sums + static_cast<ptrdiff_t>(2 * t + 1) * c);
      });
    }
  }
}

template <class D>
HWY_INLINE void combine_block(D d, const Inflow* inflows, int count, const float* value, const float* centre,
                              const float* value_scale, const float* constant, size_t pixels, int b, int c,
                              float* out) {
  const auto vs = value_scale ? hn::LoadU(d, value_scale + b) : hn::Zero(d);
  const auto k = value_scale ? hn::LoadU(d, constant + b) : hn::Zero(d);
  const auto m = value_scale ? hn::LoadU(d, centre + b) : hn::Zero(d);
  const auto own = [&](size_t at) { return value_scale ? hn::MulAdd(vs, hn::Sub(hn::LoadU(d, value + at), m), k) : k; };
  if (count == 0) {
    for (size_t i = 0; i < pixels; ++i) hn::StoreU(own(i * c + b), d, out + i * c + b);
  }
  for (int f = 0; f < count; ++f) {
    const Inflow& in = inflows[f];
    const auto scale = hn::Mul(in.scale ? hn::LoadU(d, in.scale + b) : hn::Set(d, 1.0f), hn::Set(d, in.weight));
    const auto ra = in.relu_scale ? hn::LoadU(d, in.relu_scale + b) : hn::Zero(d);
    const auto rs = in.relu_scale ? hn::LoadU(d, in.relu_shift + b) : hn::Set(d, 1.0f);
    for (size_t i = 0; i < pixels; ++i) {
      const size_t at = i * c + b;
      auto g = hn::LoadU(d, in.gradient + at);
      if (in.relu_scale) g = hn::IfThenElseZero(hn::Gt(hn::MulAdd(ra, hn::LoadU(d, value + at), rs), hn::Zero(d)), g);
      hn::StoreU(hn::MulAdd(scale, g, f == 0 ? own(at) : hn::LoadU(d, out + at)), d, out + at);
    }
  }
}

void combine(const Inflow* inflows, int count, const float* value, const float* centre, const float* value_scale,
             const float* constant, size_t pixels, int c, float* out) {
  constexpr int kMost = 8;
  if (const int together = pixels_per_vector(c, pixels); together > 1 && count <= kMost) {
    Inflow wide[kMost];
    Repeated scales[kMost], relu_scales[kMost], relu_shifts[kMost], centres, value_scales, constants;
    for (int f = 0; f < count; ++f) {
      wide[f] = inflows[f];
      wide[f].scale = scales[f](inflows[f].scale, c);
      wide[f].relu_scale = relu_scales[f](inflows[f].relu_scale, c);
      wide[f].relu_shift = relu_shifts[f](inflows[f].relu_shift, c);
    }
    combine_block(Wide(), wide, count, value, value_scale ? centres(centre, c) : nullptr, value_scales(value_scale, c),
                  value_scale ? constants(constant, c) : nullptr, pixels / together, 0, kWide, out);
    return;
  }
  for_blocks(c, [&](auto d, int b) {
    combine_block(d, inflows, count, value, centre, value_scale, constant, pixels, b, c, out);
  });
}

void add_scaled(const float* from, ptrdiff_t from_pixel, float weight, size_t pixels, int c, float* to,
                ptrdiff_t to_pixel) {
  for (size_t i = 0; i < pixels; ++i, from += from_pixel, to += to_pixel) {
    for_blocks(c, [&](auto d, int b) {
      hn::StoreU(hn::MulAdd(hn::Set(d, weight), hn::LoadU(d, from + b), hn::LoadU(d, to + b)), d, to + b);
    });
  }
}

void add_where_active(const float* from, const float* active, ptrdiff_t row, int h, int w, int c, float* to,
                      ptrdiff_t to_pixel) {
  for (int y = 0; y < h; ++y) {
    for (int x = 0; x < w; ++x, to += to_pixel) {
      const ptrdiff_t at = y * row + static_cast<ptrdiff_t>(x) * c;
      for_blocks(c, [&](auto d, int b) {
        auto g = hn::LoadU(d, from + at + b);
        if (active) g = hn::IfThenElseZero(hn::Gt(hn::LoadU(d, active + at + b), hn::Zero(d)), g);
        hn::StoreU(hn::Add(hn::LoadU(d, to + b), g), d, to + b);
      });
    }
  }
}

}  // namespace nascent::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // include guard per target
