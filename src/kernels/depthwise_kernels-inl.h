// Depthwise convolutions of image_kernels.h.
#if defined(NASCENT_DEPTHWISE_KERNELS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef NASCENT_DEPTHWISE_KERNELS_INL
#undef NASCENT_DEPTHWISE_KERNELS_INL
#else
#define NASCENT_DEPTHWISE_KERNELS_INL
#endif

#include <algorithm>
#include <cstdlib>
#include <type_traits>

#include "nascent/kernels/dense_kernels-inl.h"
#include "nascent/kernels/image_kernels.h"
#include "nascent/kernels/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace nascent::kernels::HWY_NAMESPACE {

// On plain pointers.
struct FloatDepthwise {
  explicit FloatDepthwise(const Depthwise& it)
      : in{it.in.pixels.as<float>(), it.in.row},
        taps(it.taps),
        step(it.step),
        weights(it.weights.as<float>()),
        rows(it.rows),
        pixels(it.pixels),
        c(it.c),
        add(it.add),
        out(it.out) {}

  Rows<const float> in;
  Taps taps;
  ptrdiff_t step;
  const float* weights;
  int rows, pixels, c;
  bool add;
  Rows<Stored> out;
};

// Two vectors of channels at a time where there are as many: neighbouring loads then fall into different banks of the
// cache.
template <int kPixels, int kVectors, class D, class To>
HWY_INLINE void depthwise_tile(D d, const FloatDepthwise& it, const float* in, const float* weights, To* out) {
  const ptrdiff_t lanes = hn::Lanes(d), c = it.c, step = it.step;
  const Taps taps = it.taps;
  hn::Vec<D> sum[kPixels][kVectors];
  NASCENT_UNROLL
  for (int p = 0; p < kPixels; ++p) {
    NASCENT_UNROLL
    for (int v = 0; v < kVectors; ++v) sum[p][v] = it.add ? load(d, out + p * c + v * lanes) : hn::Zero(d);
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
    for (int v = 0; v < kVectors; ++v) store(sum[p][v], d, out + p * c + v * lanes);
  }
}

template <int kVectors, class D, class To>
HWY_INLINE void depthwise_columns(D d, const FloatDepthwise& it, const float* in, const float* weights, To* out) {
  constexpr int kPixels = 8 / kVectors;
  const ptrdiff_t c = it.c;
  int i = 0;
  for (; i + kPixels <= it.pixels; i += kPixels)
    depthwise_tile<kPixels, kVectors>(d, it, in + i * it.step, weights, out + i * c);
  for (; i < it.pixels; ++i) depthwise_tile<1, kVectors>(d, it, in + i * it.step, weights, out + i * c);
}

template <class To>
HWY_INLINE void depthwise_row(const FloatDepthwise& it, const float* in, To* out) {
  int b = 0;
  for (; b + 2 * kWide <= it.c; b += 2 * kWide) depthwise_columns<2>(Wide(), it, in + b, it.weights + b, out + b);
  for_blocks(
      it.c, [&](auto d, int at) { depthwise_columns<1>(d, it, in + at, it.weights + at, out + at); }, b);
}

// Square kernels over neighbouring pixels, which is nearly all of them: every input pixel is loaded once per row of the
// kernel and used by all outputs that see it. A vector is of kTogether pixels, for which the weights are repeated: of
// the four channels of each within a vector, or before, of more.
template <int kPixels, int kSide, int kDilation, int kTogether, bool kFour, class D, class To>
HWY_INLINE void window_tile(D d, const float* in, const ptrdiff_t* rows, bool mirrored, const float* weights,
                            ptrdiff_t c, bool add, To* out) {
  constexpr int kSums = kPixels / kTogether;
  const auto weight = [&](int tap) HWY_ATTR {
    return kFour ? hn::LoadDup128(d, weights + tap * c) : hn::LoadU(d, weights + tap * kTogether * c);
  };
  hn::Vec<D> sum[kSums];
  NASCENT_UNROLL
  for (int p = 0; p < kSums; ++p) sum[p] = add ? load(d, out + p * kTogether * c) : hn::Zero(d);
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
  for (int p = 0; p < kSums; ++p) store(sum[p], d, out + p * kTogether * c);
}

#if HWY_TARGET <= HWY_AVX3
constexpr int kMostInTwos = 56;  // channels

// Two pixels are whole vectors where one is not. Returns how many pixels of each row are done. (A function of its own,
// or GCC makes less of the code for whole vectors.)
template <int kSide, int kDilation, class To>
HWY_NOINLINE int depthwise_in_twos(const FloatDepthwise& it, const ptrdiff_t* lines, bool mirrored) {
  HWY_ALIGN float weights[kSide * kSide * 2 * kMostInTwos];
  const ptrdiff_t c = it.c;
  for (int tap = 0; tap < kSide * kSide; ++tap) {
    for_blocks(it.c, [from = it.weights + tap * c, to = weights + 2 * tap * c, c](auto d, int b) {
      hn::StoreU(hn::LoadU(d, from + b), d, to + b);
      hn::StoreU(hn::LoadU(d, from + b), d, to + c + b);
    });
  }
  const auto row = [&](auto width, int y, int from) HWY_ATTR {
    constexpr int kPixels = width();
    const float* in = it.in.pixels + y * it.in.row;
    To* out = it.out.pixels.as<To>() + y * it.out.row;
    int i = from;
    for (; i + kPixels <= it.pixels; i += kPixels) {
      for (int b = 0; b < 2 * c; b += kWide)
        window_tile<kPixels, kSide, kDilation, 2, false>(Wide(), in + i * c + b, lines, mirrored, weights + b, c,
                                                         it.add, out + i * c + b);
    }
    return i;
  };
  int done = 0;
  for (int y = 0; y < it.rows; ++y)
    done = row(std::integral_constant<int, 8>(), y, row(std::integral_constant<int, 16>(), y, 0));
  return done;
}
#endif

template <int kSide, int kDilation, class To>
HWY_INLINE void depthwise_window(const FloatDepthwise& it) {
  To* out = it.out.pixels.as<To>();
  const ptrdiff_t* offsets = it.taps.offsets;
  const ptrdiff_t c = it.c;
  const bool mirrored = offsets[1] < offsets[0];
  ptrdiff_t lines[kSide];
  for (int y = 0; y < kSide; ++y) lines[y] = offsets[y * kSide + (mirrored ? kSide - 1 : 0)];
  // In every row as many tiles as there are from a pixel on; returns how far it came.
  const auto tiles = [&](auto width, auto together, auto d, int from, int b) HWY_ATTR {
    constexpr int kPixels = width(), kTogether = together();
    constexpr bool kFour = kTogether > 1;
    const int end = from + (it.pixels - from) / kPixels * kPixels;
    for (int y = 0; y < it.rows; ++y) {
      const float* x = it.in.pixels + y * it.in.row + b;
      To* to = out + y * it.out.row + b;
      for (int i = from; i < end; i += kPixels)
        window_tile<kPixels, kSide, kDilation, kTogether, kFour>(d, x + i * c, lines, mirrored, it.weights + b, c,
                                                                 it.add, to + i * c);
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
    if (it.c == 4) done = tiles(std::integral_constant<int, 16>(), two, hn::CappedTag<float, 8>(), 0, 0);
  }
#if HWY_TARGET <= HWY_AVX3
  if (it.c % kWide == 8 && it.c <= kMostInTwos) done = depthwise_in_twos<kSide, kDilation, To>(it, lines, mirrored);
#endif
  for_blocks(it.c,
             [&](auto d, int b) { tiles(one, one, d, tiles(four, one, d, tiles(eight, one, d, done, b), b), b); });
}

// kTaps sums at a time, from tap `first` on, stay in registers; b is the first channel.
template <int kTaps, class D>
HWY_INLINE void depthwise_weights_tile(D d, const DepthwiseWeights& it, int first, int b) {
  const RowPairs<const float> pairs = pairs_of<float>(it.pairs);
  const ptrdiff_t* taps = it.taps.offsets + first;
  const ptrdiff_t c = it.c, step = it.step;
  float* gradients = it.gradients + first * c + b;
  hn::Vec<D> sum[kTaps];
  NASCENT_UNROLL
  for (int t = 0; t < kTaps; ++t) sum[t] = hn::Zero(d);
  for (int y = 0; y < pairs.rows; ++y) {
    const float* x = pairs.in.pixels + y * pairs.in.row + b;
    const float* gradient = pairs.gradient.pixels + y * pairs.gradient.row + b;
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

template <class Half>
HWY_INLINE void depthwise_floats(const Depthwise& convolution) {
  const FloatDepthwise it(convolution);
  with_kind<Half>(it.out.pixels.precision(), [&]<class To>(To) {
    const bool done = with_square(square_of(it.taps, it.step, it.c),
                                  [&](auto side, auto dilation) { depthwise_window<side(), dilation(), To>(it); });
    for (int y = 0; y < it.rows && !done; ++y)
      depthwise_row(it, it.in.pixels + y * it.in.row, it.out.pixels.as<To>() + y * it.out.row);
  });
}

template <class D>
HWY_INLINE void depthwise_weights_block(D d, const DepthwiseWeights& it, int b) {
  int t = 0;
  for (; t + 9 <= it.taps.count; t += 9) depthwise_weights_tile<9>(d, it, t, b);
  for (; t + 7 <= it.taps.count; t += 7) depthwise_weights_tile<7>(d, it, t, b);
  for (; t < it.taps.count; ++t) depthwise_weights_tile<1>(d, it, t, b);
}

// Four channels: two pixels in a vector, whose sums are added up in the end.
HWY_INLINE bool depthwise_weights_in_twos(const DepthwiseWeights& it) {
  if constexpr (kWide < 8) {
    return false;
  } else {
    constexpr int kMostTaps = 25;
    if (it.c != 4 || it.step != 4 || it.pairs.pixels % 2 != 0 || it.taps.count > kMostTaps) return false;
    float sums[kMostTaps * 8];
    std::fill_n(sums, 8 * it.taps.count, 0.0f);
    DepthwiseWeights twos = it;
    twos.pairs.pixels /= 2;
    twos.step = twos.c = 8;
    twos.gradients = sums;
    depthwise_weights_block(hn::CappedTag<float, 8>(), twos, 0);
    const hn::CappedTag<float, 4> d;
    for (int t = 0; t < it.taps.count; ++t)
      add_to(d, hn::Add(hn::LoadU(d, sums + 8 * t), hn::LoadU(d, sums + 8 * t + 4)), it.gradients + 4 * t);
    return true;
  }
}

HWY_INLINE void depthwise_weights_of_floats(const DepthwiseWeights& sums) {
  const DepthwiseWeights it = sums;
  if (depthwise_weights_in_twos(it)) return;
  for_blocks(it.c, [&](auto d, int b) { depthwise_weights_block(d, it, b); });
}

// The weights of a tap of so many channels, from one of them on.
template <class D>
HWY_INLINE hn::Vec<D> tap_weights(D d, const float* weights, const Grid&, int c, int t, int b) {
  return hn::LoadU(d, weights + static_cast<ptrdiff_t>(t) * c + b);
}

// The first of each pair.
template <class D>
HWY_INLINE hn::Vec<D> tap_weights(D d, const Bf16* weights, const Grid& grid, int c, int t, int b) {
  const ptrdiff_t pair = (t + kZeroRows * grid.width) * static_cast<ptrdiff_t>(c) + b;
  const auto pairs = hn::LoadU(hn::RebindToUnsigned<D>(), reinterpret_cast<const uint32_t*>(weights) + pair);
  return hn::BitCast(d, hn::ShiftLeft<16>(pairs));
}

template <class Half>
void depthwise_scatter(const DepthwiseScatter& scatter) {
  const DepthwiseScatter it = scatter;
  with_kind<Half>(it.out_gradient.precision(), [&]<class From>(From) {
    for (int t = 0; t < it.taps.count; ++t) {
      for_blocks(it.c, [&](auto d, int b) {
        const auto w = tap_weights(d, it.weights.as<From>(), it.grid, it.c, t, b);
        float* to = it.in_gradient + it.taps.offsets[t] + b;
        const From* g = it.out_gradient.as<From>() + b;
        for (int i = 0; i < it.pixels; ++i, to += it.step, g += it.c)
          hn::StoreU(hn::MulAdd(w, load(d, g), hn::LoadU(d, to)), d, to);
      });
    }
  });
}

}  // namespace nascent::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // include guard per target
