// Depthwise and dense convolutions of image_kernels.h.
#if defined(NASCENT_CONVOLUTION_KERNELS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef NASCENT_CONVOLUTION_KERNELS_INL
#undef NASCENT_CONVOLUTION_KERNELS_INL
#else
#define NASCENT_CONVOLUTION_KERNELS_INL
#endif

#include <algorithm>
#include <cstdlib>
#include <type_traits>

#include "nascent/kernels/image_kernels.h"
#include "nascent/kernels/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace nascent::kernels::HWY_NAMESPACE {

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
// kernel and used by all outputs that see it. A vector holds kTogether pixels.
template <int kPixels, int kSide, int kDilation, int kTogether, class D>
HWY_INLINE void window_tile(D d, const float* in, const ptrdiff_t* rows, bool mirrored, const float* weights,
                            ptrdiff_t c, bool add, float* out) {
  constexpr int kSums = kPixels / kTogether;
  const auto weight = [&](int tap) HWY_ATTR {
    return kTogether > 1 ? hn::LoadDup128(d, weights + tap * c) : hn::LoadU(d, weights + tap * c);
  };
  hn::Vec<D> sum[kSums];
  NASCENT_UNROLL
  for (int p = 0; p < kSums; ++p) sum[p] = add ? hn::LoadU(d, out + p * kTogether * c) : hn::Zero(d);
  for (int y = 0; y < kSide; ++y) {
    const float* x = in + rows[y];
    hn::Vec<D> w[kSide];
    NASCENT_UNROLL
    for (int k = 0; k < kSide; ++k) w[k] = weight(y * kSide + (mirrored ? kSide - 1 - k : k));
    NASCENT_UNROLL
    for (int i = 0; i <= kPixels - kTogether + (kSide - 1) * kDilation; ++i) {
      const auto v = hn::LoadU(d, x + i * c);
      NASCENT_UNROLL
      for (int k = 0; k < kSide; ++k) {
        const int p = i - k * kDilation;
        if (p >= 0 && p < kPixels && p % kTogether == 0) sum[p / kTogether] = hn::MulAdd(w[k], v, sum[p / kTogether]);
      }
    }
  }
  NASCENT_UNROLL
  for (int p = 0; p < kSums; ++p) hn::StoreU(sum[p], d, out + p * kTogether * c);
}

template <int kSide, int kDilation>
HWY_INLINE void depthwise_window(Rows<const float> in, Taps taps, const float* weights, int rows, int pixels,
                                 ptrdiff_t c, bool add, Rows<float> out) {
  const bool mirrored = taps.offsets[1] < taps.offsets[0];
  ptrdiff_t lines[kSide];
  for (int y = 0; y < kSide; ++y) lines[y] = taps.offsets[y * kSide + (mirrored ? kSide - 1 : 0)];
  // In every row as many tiles as there are from a pixel on; returns how far it came.
  const auto tiles = [&](auto width, auto together, auto d, int from, int b) HWY_ATTR {
    constexpr int kPixels = width(), kTogether = together();
    const int end = from + (pixels - from) / kPixels * kPixels;
    for (int y = 0; y < rows; ++y) {
      const float* x = in.pixels + y * in.row + b;
      float* to = out.pixels + y * out.row + b;
      for (int i = from; i < end; i += kPixels)
        window_tile<kPixels, kSide, kDilation, kTogether>(d, x + i * c, lines, mirrored, weights + b, c, add,
                                                          to + i * c);
    }
    return end;
  };
  constexpr std::integral_constant<int, 1> one;
  constexpr std::integral_constant<int, 2> two;
  constexpr std::integral_constant<int, 4> four;
  constexpr std::integral_constant<int, 8> eight;
  int done = 0;
  if constexpr (kWide >= 8) {
    // Longer vectors would mostly be loaded across two lines of the cache.
    if (c == 4) done = tiles(std::integral_constant<int, 16>(), two, hn::CappedTag<float, 8>(), 0, 0);
  }
  for_blocks(static_cast<int>(c),
             [&](auto d, int b) { tiles(one, one, d, tiles(four, one, d, tiles(eight, one, d, done, b), b), b); });
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

void depthwise(Rows<const float> in, Taps taps, const float* weights, ptrdiff_t step, int rows, int pixels, int c,
               bool add, Rows<float> out) {
  const bool done = with_square(square_of(taps, step, c), [&](auto side, auto dilation) {
    depthwise_window<side(), dilation()>(in, taps, weights, rows, pixels, c, add, out);
  });
  for (int y = 0; y < rows && !done; ++y)
    depthwise_row(in.pixels + y * in.row, taps, weights, step, pixels, c, add, out.pixels + y * out.row);
}

template <class D>
HWY_INLINE void depthwise_weights_block(D d, const RowPairs& pairs, Taps taps, ptrdiff_t step, int c,
                                        float* gradients) {
  int t = 0;
  const auto at = [&](int tap) { return gradients + static_cast<ptrdiff_t>(tap) * c; };
  for (; t + 9 <= taps.count; t += 9) depthwise_weights_tile<9>(d, pairs, taps.offsets + t, step, c, at(t));
  for (; t + 7 <= taps.count; t += 7) depthwise_weights_tile<7>(d, pairs, taps.offsets + t, step, c, at(t));
  for (; t < taps.count; ++t) depthwise_weights_tile<1>(d, pairs, taps.offsets + t, step, c, at(t));
}

// Four channels: two pixels in a vector, whose sums are added up in the end.
HWY_INLINE bool depthwise_weights_in_twos(RowPairs pairs, Taps taps, ptrdiff_t step, int c, float* gradients) {
  if constexpr (kWide < 8) {
    return false;
  } else {
    constexpr int kMostTaps = 25;
    if (c != 4 || step != 4 || pairs.pixels % 2 != 0 || taps.count > kMostTaps) return false;
    float twos[kMostTaps * 8];
    std::fill_n(twos, 8 * taps.count, 0.0f);
    pairs.pixels /= 2;
    depthwise_weights_block(hn::CappedTag<float, 8>(), pairs, taps, 8, 8, twos);
    const hn::CappedTag<float, 4> d;
    for (int t = 0; t < taps.count; ++t)
      add_to(d, hn::Add(hn::LoadU(d, twos + 8 * t), hn::LoadU(d, twos + 8 * t + 4)), gradients + 4 * t);
    return true;
  }
}

void depthwise_weights(const float* in, ptrdiff_t in_row, Taps taps, ptrdiff_t step, const float* out_gradient,
                       ptrdiff_t gradient_row, int rows, int pixels, int c, float* gradients) {
  const RowPairs all = {in, in_row, out_gradient, gradient_row, rows, pixels};
  if (depthwise_weights_in_twos(all, taps, step, c, gradients)) return;
  for_blocks(c, [&](auto d, int b) { depthwise_weights_block(d, all.at(b), taps, step, c, gradients + b); });
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

// Pixels in groups of four, each with its own pointer: four addresses then take two more registers for all groups,
// where an offset per pixel would be fetched from memory with every input.
template <int kPixels, int kVectors, class D>
HWY_INLINE void dense_tile(D d, const float* in, Taps taps, int ci, const float* weights, ptrdiff_t step, int co,
                           Start start, float* out, ptrdiff_t out_pixel) {
  constexpr int kGroups = (kPixels + 3) / 4;
  const ptrdiff_t lanes = hn::Lanes(d), offsets[4] = {0, step, 2 * step, 3 * step};
  hn::Vec<D> sum[kPixels][kVectors];
  NASCENT_UNROLL
  for (int p = 0; p < kPixels; ++p) {
    NASCENT_UNROLL
    for (int v = 0; v < kVectors; ++v)
      sum[p][v] = start.values ? hn::LoadU(d, start.values + p * start.pixel + v * lanes) : hn::Zero(d);
  }
  for (int t = 0; t < taps.count; ++t) {
    const float* group[kGroups];
    NASCENT_UNROLL
    for (int g = 0; g < kGroups; ++g) group[g] = in + taps.offsets[t] + 4 * g * step;
    for (int k = 0; k < ci; ++k, weights += co) {
      hn::Vec<D> w[kVectors];
      NASCENT_UNROLL
      for (int v = 0; v < kVectors; ++v) w[v] = hn::LoadU(d, weights + v * lanes);
      NASCENT_UNROLL
      for (int p = 0; p < kPixels; ++p) {
        const auto value = hn::Set(d, group[p / 4][offsets[p % 4]]);
        NASCENT_UNROLL
        for (int v = 0; v < kVectors; ++v) sum[p][v] = hn::MulAdd(value, w[v], sum[p][v]);
      }
      NASCENT_UNROLL
      for (int g = 0; g < kGroups; ++g) {
        ++group[g];
        asm("" : "+r"(group[g]));  // or GCC would make offsets of them again
      }
    }
  }
  NASCENT_UNROLL
  for (int p = 0; p < kPixels; ++p) {
    NASCENT_UNROLL
    for (int v = 0; v < kVectors; ++v) hn::StoreU(sum[p][v], d, out + p * out_pixel + v * lanes);
  }
}

template <int kVectors, class D>
HWY_INLINE void dense_columns(D d, const float* in, Taps taps, int ci, const float* weights, ptrdiff_t step, int pixels,
                              int co, Start start, float* out, ptrdiff_t out_pixel) {
  constexpr int kPixels = kAccumulators / kVectors;
  int i = 0;
  const auto here = [&] { return out + i * out_pixel; };
  // Eight is better as four and four than as six and two.
  for (; pixels - i >= kPixels && !(kPixels == 6 && pixels - i == 8); i += kPixels)
    dense_tile<kPixels, kVectors>(d, in + i * step, taps, ci, weights, step, co, start.after(i), here(), out_pixel);
  if constexpr (kPixels > 8) {
    for (; pixels - i >= 8; i += 8)
      dense_tile<8, kVectors>(d, in + i * step, taps, ci, weights, step, co, start.after(i), here(), out_pixel);
  }
  for (; pixels - i >= 4; i += 4)
    dense_tile<4, kVectors>(d, in + i * step, taps, ci, weights, step, co, start.after(i), here(), out_pixel);
  for (; pixels - i >= 2; i += 2)
    dense_tile<2, kVectors>(d, in + i * step, taps, ci, weights, step, co, start.after(i), here(), out_pixel);
  for (; i < pixels; ++i)
    dense_tile<1, kVectors>(d, in + i * step, taps, ci, weights, step, co, start.after(i), here(), out_pixel);
}

// Four inputs and four outputs: a vector holds several pixels, and each input is spread over the outputs of its pixel.
template <int kVectors>
HWY_INLINE void dense_quads(const float* in, Taps taps, const float* weights, Start start, float* out) {
  const Wide d;
  hn::Vec<Wide> sum[kVectors];
  NASCENT_UNROLL
  for (int v = 0; v < kVectors; ++v)
    sum[v] = start.values ? hn::LoadU(d, start.values + v * (start.pixel * kWide / 4)) : hn::Zero(d);
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
                               int co, Start start, float* out, ptrdiff_t out_pixel) {
  if constexpr (kWide < 8) {
    return false;
  } else {
    constexpr int kMostTaps = 9;
    if (ci != 4 || co != 4 || step != 4 || pixels_per_vector(4, pixels) == 1 || taps.count > kMostTaps) return false;
    if (out_pixel != 4 || (start.pixel != 0 && start.pixel != 4)) return false;
    HWY_ALIGN float repeated[kMostTaps * 4 * kWide];
    for (int k = 0; k < 4 * taps.count; ++k) repeat(weights + 4 * k, 4, repeated + k * kWide);
    Repeated alike;
    if (start.values && start.pixel == 0) start.values = alike(start.values, 4);
    int i = 0;
    for (; i + kWide <= pixels; i += kWide) dense_quads<4>(in + 4 * i, taps, repeated, start.after(i), out + 4 * i);
    for (; i < pixels; i += kWide / 4) dense_quads<1>(in + 4 * i, taps, repeated, start.after(i), out + 4 * i);
    return true;
  }
}

#if HWY_TARGET <= HWY_AVX3
// Two vectors of outputs and four more, as 36 channels are: the four of two pixels share half a vector.
HWY_INLINE void dense_tile_and_four(const float* in, Taps taps, int ci, const float* weights, ptrdiff_t step, int co,
                                    Start start, float* out, ptrdiff_t out_pixel) {
  constexpr int kPixels = 8;
  const Wide d;
  const hn::CappedTag<float, 8> two;
  const hn::CappedTag<float, 4> four;
  const ptrdiff_t offsets[4] = {0, step, 2 * step, 3 * step};
  const auto first_pixel = hn::FirstN(two, 4);
  hn::Vec<Wide> sum[kPixels][2];
  hn::Vec<decltype(two)> rest[kPixels / 2];
  NASCENT_UNROLL
  for (int p = 0; p < kPixels; ++p) {
    NASCENT_UNROLL
    for (int v = 0; v < 2; ++v)
      sum[p][v] = start.values ? hn::LoadU(d, start.values + p * start.pixel + v * kWide) : hn::Zero(d);
  }
  NASCENT_UNROLL
  for (int p = 0; p < kPixels; p += 2) {
    rest[p / 2] = hn::Zero(two);
    if (start.values) {
      const float* at = start.values + p * start.pixel + 2 * kWide;
      rest[p / 2] = hn::Combine(two, hn::LoadU(four, at + start.pixel), hn::LoadU(four, at));
    }
  }
  for (int t = 0; t < taps.count; ++t) {
    const float *near = in + taps.offsets[t], *far = near + 4 * step;
    for (int k = 0; k < ci; ++k, weights += co) {
      const auto w0 = hn::LoadU(d, weights), w1 = hn::LoadU(d, weights + kWide);
      const auto w2 = hn::LoadDup128(two, weights + 2 * kWide);
      NASCENT_UNROLL
      for (int p = 0; p < kPixels; p += 2) {
        const float* group = p < 4 ? near : far;
        const auto a = hn::Set(d, group[offsets[p % 4]]), b = hn::Set(d, group[offsets[p % 4 + 1]]);
        sum[p][0] = hn::MulAdd(a, w0, sum[p][0]);
        sum[p][1] = hn::MulAdd(a, w1, sum[p][1]);
        sum[p + 1][0] = hn::MulAdd(b, w0, sum[p + 1][0]);
        sum[p + 1][1] = hn::MulAdd(b, w1, sum[p + 1][1]);
        const auto both = hn::IfThenElse(first_pixel, hn::LowerHalf(two, a), hn::LowerHalf(two, b));
        rest[p / 2] = hn::MulAdd(both, w2, rest[p / 2]);
      }
      ++near;
      ++far;
      asm("" : "+r"(near), "+r"(far));  // as above
    }
  }
  NASCENT_UNROLL
  for (int p = 0; p < kPixels; ++p) {
    NASCENT_UNROLL
    for (int v = 0; v < 2; ++v) hn::StoreU(sum[p][v], d, out + p * out_pixel + v * kWide);
  }
  NASCENT_UNROLL
  for (int p = 0; p < kPixels; p += 2) {
    float* at = out + p * out_pixel + 2 * kWide;
    hn::StoreU(hn::LowerHalf(four, rest[p / 2]), four, at);
    hn::StoreU(hn::UpperHalf(four, rest[p / 2]), four, at + out_pixel);
  }
}

#endif

void dense(const float* in, Taps taps, int ci, const float* weights, ptrdiff_t step, int pixels, int co, Start start,
           float* out, ptrdiff_t out_pixel) {
  if (dense_in_quads(in, taps, ci, weights, step, pixels, co, start, out, out_pixel)) return;
  int b = 0, done = 0;  // pixels, of the outputs from b on
  const auto columns = [&](auto vectors, auto d, int at) {
    dense_columns<vectors()>(d, in + done * step, taps, ci, weights + at, step, pixels - done, co,
                             start.after(done).from_channel(at), out + done * out_pixel + at, out_pixel);
  };
  for (; b + 2 * kWide <= co; b += 2 * kWide) {
#if HWY_TARGET <= HWY_AVX3
    for (; co - b == 2 * kWide + 4 && pixels - done >= 8; done += 8)
      dense_tile_and_four(in + done * step, taps, ci, weights + b, step, co, start.after(done).from_channel(b),
                          out + done * out_pixel + b, out_pixel);
#endif
    columns(std::integral_constant<int, 2>(), Wide(), b);
  }
  for_blocks(
      co, [&](auto d, int at) { columns(std::integral_constant<int, 1>(), d, at); }, b);
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

// Four inputs and four outputs, as in dense_quads().
HWY_INLINE bool dense_weights_in_quads(const RowPairs& pairs, int ci, ptrdiff_t step, int co, float* gradients) {
  if constexpr (kWide < 8) {
    return false;
  } else {
    if (ci != 4 || co != 4 || step != 4 || pixels_per_vector(4, pairs.pixels) == 1) return false;
    const Wide d;
    auto sum0 = hn::Zero(d), sum1 = sum0, sum2 = sum0, sum3 = sum0;
    for (int y = 0; y < pairs.rows; ++y) {
      const float *in = pairs.in + y * pairs.in_row, *gradient = pairs.gradient + y * pairs.gradient_row;
      for (int i = 0; i < 4 * pairs.pixels; i += kWide) {
        const auto x = hn::LoadU(d, in + i), g = hn::LoadU(d, gradient + i);
        sum0 = hn::MulAdd(hn::Broadcast<0>(x), g, sum0);
        sum1 = hn::MulAdd(hn::Broadcast<1>(x), g, sum1);
        sum2 = hn::MulAdd(hn::Broadcast<2>(x), g, sum2);
        sum3 = hn::MulAdd(hn::Broadcast<3>(x), g, sum3);
      }
    }
    HWY_ALIGN float sums[4 * kWide];
    hn::Store(sum0, d, sums);
    hn::Store(sum1, d, sums + kWide);
    hn::Store(sum2, d, sums + 2 * kWide);
    hn::Store(sum3, d, sums + 3 * kWide);
    for (int k = 0; k < 4; ++k) fold(sums + k * kWide, 4, gradients + 4 * k);
    return true;
  }
}

void dense_weights(const float* in, ptrdiff_t in_row, Taps taps, int ci, ptrdiff_t step, const float* out_gradient,
                   ptrdiff_t gradient_row, int rows, int pixels, int co, float* gradients) {
  for (int t = 0; t < taps.count; ++t, gradients += static_cast<ptrdiff_t>(ci) * co) {
    const auto pairs = [&](int b) {
      return RowPairs{in + taps.offsets[t], in_row, out_gradient + b, gradient_row, rows, pixels};
    };
    if (dense_weights_in_quads(pairs(0), ci, step, co, gradients)) continue;
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

}  // namespace nascent::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // include guard per target
