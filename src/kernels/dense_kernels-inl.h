// Dense convolutions of image_kernels.h: matrix products whose rows are pixels.
#if defined(NASCENT_DENSE_KERNELS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef NASCENT_DENSE_KERNELS_INL
#undef NASCENT_DENSE_KERNELS_INL
#else
#define NASCENT_DENSE_KERNELS_INL
#endif

#include <type_traits>

#include "nascent/kernels/image_kernels.h"
#include "nascent/kernels/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace nascent::kernels::HWY_NAMESPACE {

// Pixels in groups of four, each with its own pointer: four addresses then take two more registers for all groups,
// where an offset per pixel would be fetched from memory with every input.
template <int kPixels, int kVectors, class D>
HWY_INLINE void dense_tile(D d, const Dense& it) {
  const float *in = it.in, *weights = it.weights;
  const Taps taps = it.taps;
  const Start start = it.start;
  const ptrdiff_t step = it.step;
  const int ci = it.ci, co = it.co;
  const Pixels<float> out = it.out;
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
    for (int v = 0; v < kVectors; ++v) hn::StoreU(sum[p][v], d, out.first + p * out.pixel + v * lanes);
  }
}

template <int kVectors, class D>
HWY_INLINE void dense_columns(D d, const Dense& it) {
  constexpr int kPixels = kAccumulators / kVectors;
  const int pixels = it.pixels;
  int i = 0;
  // Eight is better as four and four than as six and two.
  for (; pixels - i >= kPixels && !(kPixels == 6 && pixels - i == 8); i += kPixels)
    dense_tile<kPixels, kVectors>(d, it.part(i, 0, kPixels));
  if constexpr (kPixels > 8) {
    for (; pixels - i >= 8; i += 8) dense_tile<8, kVectors>(d, it.part(i, 0, 8));
  }
  for (; pixels - i >= 4; i += 4) dense_tile<4, kVectors>(d, it.part(i, 0, 4));
  for (; pixels - i >= 2; i += 2) dense_tile<2, kVectors>(d, it.part(i, 0, 2));
  for (; i < pixels; ++i) dense_tile<1, kVectors>(d, it.part(i, 0, 1));
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

HWY_INLINE bool dense_in_quads(const Dense& it) {
  if constexpr (kWide < 8) {
    return false;
  } else {
    constexpr int kMostTaps = 9;
    if (it.ci != 4 || it.co != 4 || it.step != 4 || it.out.pixel != 4 || it.taps.count > kMostTaps) return false;
    if (pixels_per_vector(4, it.pixels) == 1 || (it.start.pixel != 0 && it.start.pixel != 4)) return false;
    HWY_ALIGN float repeated[kMostTaps * 4 * kWide];
    for (int k = 0; k < 4 * it.taps.count; ++k) repeat(it.weights + 4 * k, 4, repeated + k * kWide);
    Repeated alike;
    Start start = it.start;
    if (start.values && start.pixel == 0) start.values = alike(start.values, 4);
    int i = 0;
    const auto in = [&] { return it.in + 4 * i; };
    const auto out = [&] { return it.out.first + 4 * i; };
    for (; i + kWide <= it.pixels; i += kWide) dense_quads<4>(in(), it.taps, repeated, start.after(i), out());
    for (; i < it.pixels; i += kWide / 4) dense_quads<1>(in(), it.taps, repeated, start.after(i), out());
    return true;
  }
}

#if HWY_TARGET <= HWY_AVX3
// Two vectors of outputs and four more, as 36 channels are: the four of two pixels share half a vector.
HWY_INLINE void dense_tile_and_four(const Dense& it) {
  const float *in = it.in, *weights = it.weights;
  const Taps taps = it.taps;
  const Start start = it.start;
  const ptrdiff_t step = it.step;
  const int ci = it.ci, co = it.co;
  const Pixels<float> out = it.out;
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
    for (int v = 0; v < 2; ++v) hn::StoreU(sum[p][v], d, out.first + p * out.pixel + v * kWide);
  }
  NASCENT_UNROLL
  for (int p = 0; p < kPixels; p += 2) {
    float* at = out.first + p * out.pixel + 2 * kWide;
    hn::StoreU(hn::LowerHalf(four, rest[p / 2]), four, at);
    hn::StoreU(hn::UpperHalf(four, rest[p / 2]), four, at + out.pixel);
  }
}

#endif

void dense(const Dense& convolution) {
  const Dense it = convolution;  // a copy of its own: stores through pointers cannot change it
  if (dense_in_quads(it)) return;
  int b = 0, done = 0;  // pixels, of the outputs from b on
  const auto columns = [&](auto vectors, auto d, int at) {
    dense_columns<vectors()>(d, it.part(done, at, it.pixels - done));
  };
  for (; b + 2 * kWide <= it.co; b += 2 * kWide) {
#if HWY_TARGET <= HWY_AVX3
    for (; it.co - b == 2 * kWide + 4 && it.pixels - done >= 8; done += 8) dense_tile_and_four(it.part(done, b, 8));
#endif
    columns(std::integral_constant<int, 2>(), Wide(), b);
  }
  for_blocks(
      it.co, [&](auto d, int at) { columns(std::integral_constant<int, 1>(), d, at); }, b);
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
    const float *in = pairs.in.pixels + y * pairs.in.row, *gradient = pairs.gradient.pixels + y * pairs.gradient.row;
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
  const auto advance = [&](int inputs) {
    pairs.in.pixels += inputs;
    gradients += static_cast<ptrdiff_t>(inputs) * co;
  };
  for (; ci - k >= kInputs && !(kInputs == 6 && ci - k == 8); k += kInputs) {
    dense_weights_tile<kInputs, kVectors>(d, pairs, step, co, gradients);
    advance(kInputs);
  }
  for (; ci - k >= 4; k += 4) {
    dense_weights_tile<4, kVectors>(d, pairs, step, co, gradients);
    advance(4);
  }
  for (; k < ci; ++k) {
    dense_weights_tile<1, kVectors>(d, pairs, step, co, gradients);
    advance(1);
  }
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
      const float *in = pairs.in.pixels + y * pairs.in.row, *gradient = pairs.gradient.pixels + y * pairs.gradient.row;
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

void dense_weights(const DenseWeights& sums) {
  const RowPairs all = sums.pairs;
  const Taps taps = sums.taps;
  const ptrdiff_t step = sums.step;
  const int ci = sums.ci, co = sums.co;
  float* gradients = sums.gradients;
  for (int t = 0; t < taps.count; ++t, gradients += static_cast<ptrdiff_t>(ci) * co) {
    // What the tap sees, and the gradient from output b on.
    const auto pairs = [&, tap = taps.offsets[t]](int b) {
      RowPairs seen = all;
      seen.in.pixels += tap;
      seen.gradient.pixels += b;
      return seen;
    };
    if (dense_weights_in_quads(pairs(0), ci, step, co, gradients)) continue;
    int b = 0;
    for (; b + 2 * kWide <= co; b += 2 * kWide) dense_weights_columns<2>(Wide(), pairs(b), ci, step, co, gradients + b);
    for_blocks(
        co, [&](auto d, int at) { dense_weights_columns<1>(d, pairs(at), ci, step, co, gradients + at); }, b);
  }
}

}  // namespace nascent::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // include guard per target
