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

// A Dense of known kinds of numbers, on plain pointers. What all sums begin with (`alike`) are floats.
template <class From, class To>
struct DenseOf {
  explicit DenseOf(const Dense& it)
      : in(it.in.as<From>()),
        taps(it.taps),
        step(it.step),
        ci(it.ci),
        weights(it.weights.as<From>()),
        pixels(it.pixels),
        co(it.co),
        out{it.out.first.as<To>(), it.out.pixel} {
    if (it.start.values && it.start.pixel == 0) alike = it.start.values.as<float>();
    if (it.start.values && it.start.pixel != 0) start = {it.start.values.as<To>(), it.start.pixel};
  }

  // From a pixel and an output on, for so many pixels.
  DenseOf part(ptrdiff_t pixel, int output, int count) const {
    DenseOf rest = *this;
    rest.in += pixel * step;
    rest.weights += std::is_same_v<From, float> ? output : 2 * output;
    rest.pixels = count;
    if (alike) rest.alike += output;
    if (start.first) rest.start.first += pixel * start.pixel + output;
    rest.out.first += pixel * out.pixel + output;
    return rest;
  }

  // What the sums of a pixel begin with, from an output on.
  template <class D>
  HWY_INLINE hn::Vec<D> begin(D d, int pixel, ptrdiff_t output) const {
    if (alike) return hn::LoadU(d, alike + output);
    return start.first ? load(d, start.first + pixel * start.pixel + output) : hn::Zero(d);
  }

  const From* in;
  Taps taps;
  ptrdiff_t step;
  int ci;
  const From* weights;
  int pixels, co;
  const float* alike = nullptr;
  Pixels<const To> start{};
  Pixels<To> out;
};

using FloatDense = DenseOf<float, float>;

// Pixels in groups of four, each with its own pointer: four addresses then take two more registers for all groups,
// where an offset per pixel would be fetched from memory with every input.
template <int kPixels, int kVectors, class D>
HWY_INLINE void dense_tile(D d, const FloatDense& it) {
  const float *in = it.in, *weights = it.weights;
  const Taps taps = it.taps;
  const ptrdiff_t step = it.step;
  const int ci = it.ci, co = it.co;
  const Pixels<float> out = it.out;
  constexpr int kGroups = (kPixels + 3) / 4;
  const ptrdiff_t lanes = hn::Lanes(d), offsets[4] = {0, step, 2 * step, 3 * step};
  hn::Vec<D> sum[kPixels][kVectors];
  NASCENT_UNROLL
  for (int p = 0; p < kPixels; ++p) {
    NASCENT_UNROLL
    for (int v = 0; v < kVectors; ++v) sum[p][v] = it.begin(d, p, v * lanes);
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
HWY_INLINE void dense_columns(D d, const FloatDense& it) {
  for_tiles<kAccumulators / kVectors>(
      it.pixels, [&](auto pixels, int i) { dense_tile<pixels(), kVectors>(d, it.part(i, 0, pixels())); });
}

// Four inputs and four outputs: a vector holds several pixels, and each input is spread over the outputs of its pixel.
// `alike` repeats like the weights.
template <int kVectors, class From, class To>
HWY_INLINE void dense_quads(const DenseOf<From, To>& it, const float* weights, const float* alike) {
  const Wide d;
  const ptrdiff_t start_step = it.start.pixel * kWide / 4;
  hn::Vec<Wide> sum[kVectors];
  NASCENT_UNROLL
  for (int v = 0; v < kVectors; ++v) {
    sum[v] = alike ? hn::LoadU(d, alike) : it.start.first ? load(d, it.start.first + v * start_step) : hn::Zero(d);
  }
  for (int t = 0; t < it.taps.count; ++t, weights += 4 * kWide) {
    const auto w0 = hn::LoadU(d, weights), w1 = hn::LoadU(d, weights + kWide), w2 = hn::LoadU(d, weights + 2 * kWide),
               w3 = hn::LoadU(d, weights + 3 * kWide);
    NASCENT_UNROLL
    for (int v = 0; v < kVectors; ++v) {
      const auto x = load(d, it.in + it.taps.offsets[t] + v * kWide);
      sum[v] = hn::MulAdd(hn::Broadcast<0>(x), w0, sum[v]);
      sum[v] = hn::MulAdd(hn::Broadcast<1>(x), w1, sum[v]);
      sum[v] = hn::MulAdd(hn::Broadcast<2>(x), w2, sum[v]);
      sum[v] = hn::MulAdd(hn::Broadcast<3>(x), w3, sum[v]);
    }
  }
  NASCENT_UNROLL
  for (int v = 0; v < kVectors; ++v) store(sum[v], d, it.out.first + v * kWide);
}

// Weights of four inputs and four outputs, of input k of all taps.
HWY_INLINE const float* quad_weights(const float* weights, int k, float*) { return weights + 4 * k; }

HWY_INLINE const float* quad_weights(const Bf16* weights, int k, float* four) {
  const Bf16* pairs = weights + k / 2 * 2 * paired_outputs(4) + k % 2;
  for (int o = 0; o < 4; ++o) four[o] = widened(pairs[2 * o]);
  return four;
}

template <class From, class To>
HWY_INLINE bool dense_in_quads(const DenseOf<From, To>& it) {
  if constexpr (kWide < 8) {
    return false;
  } else {
    constexpr int kMostTaps = 9;
    if (it.ci != 4 || it.co != 4 || it.step != 4 || it.out.pixel != 4 || it.taps.count > kMostTaps) return false;
    if (pixels_per_vector(4, it.pixels) == 1 || (it.start.pixel != 0 && it.start.pixel != 4)) return false;
    HWY_ALIGN float repeated[kMostTaps * 4 * kWide], four[4];
    for (int k = 0; k < 4 * it.taps.count; ++k) repeat(quad_weights(it.weights, k, four), 4, repeated + k * kWide);
    Repeated alike;
    const float* start = alike(it.alike, 4);
    int i = 0;
    for (; i + kWide <= it.pixels; i += kWide) dense_quads<4>(it.part(i, 0, kWide), repeated, start);
    for (; i < it.pixels; i += kWide / 4) dense_quads<1>(it.part(i, 0, kWide / 4), repeated, start);
    return true;
  }
}

#if HWY_TARGET <= HWY_AVX2
// Four or eight numbers, as often as a vector holds them.
template <int kNumbers, class D>
HWY_INLINE hn::Vec<D> repeated(D d, const float* from) {
  if constexpr (kNumbers == 4) {
    return hn::LoadDup128(d, from);
  } else {
    const auto numbers = hn::LoadU(hn::CappedTag<float, kNumbers>(), from);
    return hn::Combine(d, numbers, numbers);
  }
}

// Few outputs: a vector holds those of several pixels. It takes four inputs of each pixel at a time, and each input is
// spread over the outputs of its pixel.
template <int kVectors, int kOutputs>
HWY_INLINE void dense_few(const FloatDense& it) {
  constexpr int kTogether = kWide / kOutputs;
  const Wide d;
  const ptrdiff_t step = it.step;
  // Four inputs of each pixel, as often as it has outputs.
  const auto load_inputs = [&](const float* in) HWY_ATTR {
    auto inputs = hn::LoadDup128(d, in + (kTogether - 1) * step);
    NASCENT_UNROLL
    for (int p = kTogether - 2; p >= 0; --p)
      inputs = hn::IfThenElse(hn::FirstN(d, (p + 1) * kOutputs), hn::LoadDup128(d, in + p * step), inputs);
    return inputs;
  };
  hn::Vec<Wide> sum[kVectors];
  NASCENT_UNROLL
  for (int v = 0; v < kVectors; ++v)
    sum[v] = it.alike ? repeated<kOutputs>(d, it.alike) : it.begin(d, v * kTogether, 0);
  const float* weights = it.weights;
  for (int t = 0; t < it.taps.count; ++t) {
    const float* in = it.in + it.taps.offsets[t];
    for (int k = 0; k < it.ci; k += 4, weights += 4 * kOutputs) {
      const auto w0 = repeated<kOutputs>(d, weights), w1 = repeated<kOutputs>(d, weights + kOutputs);
      const auto w2 = repeated<kOutputs>(d, weights + 2 * kOutputs), w3 = repeated<kOutputs>(d, weights + 3 * kOutputs);
      NASCENT_UNROLL
      for (int v = 0; v < kVectors; ++v) {
        const auto x = load_inputs(in + v * kTogether * step + k);
        sum[v] = hn::MulAdd(hn::Broadcast<0>(x), w0, sum[v]);
        sum[v] = hn::MulAdd(hn::Broadcast<1>(x), w1, sum[v]);
        sum[v] = hn::MulAdd(hn::Broadcast<2>(x), w2, sum[v]);
        sum[v] = hn::MulAdd(hn::Broadcast<3>(x), w3, sum[v]);
      }
    }
  }
  NASCENT_UNROLL
  for (int v = 0; v < kVectors; ++v) hn::StoreU(sum[v], d, it.out.first + v * kWide);
}

#endif

// Returns how many pixels it has done.
template <int kOutputs>
HWY_INLINE int dense_of_few([[maybe_unused]] const FloatDense& it) {
#if HWY_TARGET <= HWY_AVX2
  if constexpr (kOutputs < kWide) {
    constexpr int kTogether = kWide / kOutputs;
    const bool gapless = it.out.pixel == kOutputs && (!it.start.first || it.start.pixel == kOutputs);
    if (it.co != kOutputs || it.ci % 4 != 0 || !gapless) return 0;
    for_tiles<8>(it.pixels / kTogether, [&](auto vectors, int i) {
      dense_few<vectors(), kOutputs>(it.part(i * kTogether, 0, vectors() * kTogether));
    });
    return it.pixels / kTogether * kTogether;
  }
#endif
  return 0;
}

#if HWY_TARGET <= HWY_AVX3
// So many lanes of a vector: all, or the lower half.
template <int kLanes>
HWY_INLINE auto half_of(hn::Vec<Wide> whole) {
  if constexpr (kLanes == kWide) {
    return whole;
  } else {
    return hn::LowerHalf(hn::CappedTag<float, kLanes>(), whole);
  }
}

// Vectors of outputs and four or eight more, as 24 and 36 channels are: those of two pixels share a vector.
template <int kPixels, int kVectors, int kRest>
HWY_INLINE void dense_tile_and_rest(const FloatDense& it) {
  static_assert(kPixels % 2 == 0);
  const float *in = it.in, *weights = it.weights;
  const Taps taps = it.taps;
  const ptrdiff_t step = it.step;
  const int ci = it.ci, co = it.co;
  const Pixels<float> out = it.out;
  constexpr int kGroups = (kPixels + 3) / 4;
  const Wide d;
  const hn::CappedTag<float, 2 * kRest> two;
  const hn::CappedTag<float, kRest> one;
  const ptrdiff_t offsets[4] = {0, step, 2 * step, 3 * step};
  const auto first_pixel = hn::FirstN(two, kRest);
  hn::Vec<Wide> sum[kPixels][kVectors];
  hn::Vec<decltype(two)> rest[kPixels / 2];
  NASCENT_UNROLL
  for (int p = 0; p < kPixels; ++p) {
    NASCENT_UNROLL
    for (int v = 0; v < kVectors; ++v) sum[p][v] = it.begin(d, p, v * kWide);
  }
  NASCENT_UNROLL
  for (int p = 0; p < kPixels; p += 2)
    rest[p / 2] = hn::Combine(two, it.begin(one, p + 1, kVectors * kWide), it.begin(one, p, kVectors * kWide));
  for (int t = 0; t < taps.count; ++t) {
    const float* group[kGroups];
    NASCENT_UNROLL
    for (int g = 0; g < kGroups; ++g) group[g] = in + taps.offsets[t] + 4 * g * step;
    for (int k = 0; k < ci; ++k, weights += co) {
      hn::Vec<Wide> w[kVectors];
      NASCENT_UNROLL
      for (int v = 0; v < kVectors; ++v) w[v] = hn::LoadU(d, weights + v * kWide);
      const auto w_rest = repeated<kRest>(two, weights + kVectors * kWide);
      NASCENT_UNROLL
      for (int p = 0; p < kPixels; p += 2) {
        const auto a = hn::Set(d, group[p / 4][offsets[p % 4]]), b = hn::Set(d, group[p / 4][offsets[p % 4 + 1]]);
        NASCENT_UNROLL
        for (int v = 0; v < kVectors; ++v) {
          sum[p][v] = hn::MulAdd(a, w[v], sum[p][v]);
          sum[p + 1][v] = hn::MulAdd(b, w[v], sum[p + 1][v]);
        }
        const auto both = hn::IfThenElse(first_pixel, half_of<2 * kRest>(a), half_of<2 * kRest>(b));
        rest[p / 2] = hn::MulAdd(both, w_rest, rest[p / 2]);
      }
      NASCENT_UNROLL
      for (int g = 0; g < kGroups; ++g) {
        ++group[g];
        asm("" : "+r"(group[g]));  // as above
      }
    }
  }
  NASCENT_UNROLL
  for (int p = 0; p < kPixels; ++p) {
    NASCENT_UNROLL
    for (int v = 0; v < kVectors; ++v) hn::StoreU(sum[p][v], d, out.first + p * out.pixel + v * kWide);
  }
  NASCENT_UNROLL
  for (int p = 0; p < kPixels; p += 2) {
    float* at = out.first + p * out.pixel + kVectors * kWide;
    hn::StoreU(hn::LowerHalf(one, rest[p / 2]), one, at);
    hn::StoreU(hn::UpperHalf(one, rest[p / 2]), one, at + out.pixel);
  }
}

// Returns how many pixels it has done.
template <int kVectors, int kRest>
HWY_INLINE int dense_columns_and_rest(const FloatDense& it) {
  constexpr int kMostPairs = kVectors == 1 ? 8 : 4;
  for_tiles<kMostPairs>(it.pixels / 2, [&](auto pairs, int i) {
    dense_tile_and_rest<2 * pairs(), kVectors, kRest>(it.part(2 * i, 0, 2 * pairs()));
  });
  return it.pixels / 2 * 2;
}

#endif

template <int kVectors>
HWY_INLINE int dense_columns_and_rest([[maybe_unused]] const FloatDense& it, [[maybe_unused]] int outputs) {
#if HWY_TARGET <= HWY_AVX3
  if (outputs == kVectors * kWide + 4) return dense_columns_and_rest<kVectors, 4>(it);
  if (outputs == kVectors * kWide + 8) return dense_columns_and_rest<kVectors, 8>(it);
#endif
  return 0;
}

HWY_INLINE void dense_floats(const Dense& convolution) {
  const FloatDense it(convolution);
  if (dense_in_quads(it)) return;
  int b = 0, done = dense_of_few<4>(it) + dense_of_few<8>(it);  // pixels, of the outputs from b on
  const auto columns = [&](auto vectors, auto d, int at) {
    dense_columns<vectors()>(d, it.part(done, at, it.pixels - done));
  };
  const auto columns_and_rest = [&](auto vectors) {
    done += dense_columns_and_rest<vectors()>(it.part(done, b, it.pixels - done), it.co - b);
  };
  for (; b + 2 * kWide <= it.co; b += 2 * kWide) {
    columns_and_rest(std::integral_constant<int, 2>());
    columns(std::integral_constant<int, 2>(), Wide(), b);
  }
  columns_and_rest(std::integral_constant<int, 1>());
  for_blocks(
      it.co, [&](auto d, int at) { columns(std::integral_constant<int, 1>(), d, at); }, b);
}

using FloatPairs = RowPairs<const float>;

template <int kInputs, int kVectors, class D>
HWY_INLINE void dense_weights_tile(D d, const FloatPairs& pairs, ptrdiff_t step, int co, float* gradients) {
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
HWY_INLINE void dense_weights_columns(D d, const FloatPairs& pairs, int ci, ptrdiff_t step, int co, float* gradients) {
  for_tiles<kAccumulators / kVectors>(ci, [&](auto inputs, int k) {
    FloatPairs seen = pairs;
    seen.in.pixels += k;
    dense_weights_tile<inputs(), kVectors>(d, seen, step, co, gradients + static_cast<ptrdiff_t>(k) * co);
  });
}

#if HWY_TARGET <= HWY_AVX3
// A vector of outputs and a rest, as in dense_tile_and_rest(): those of two inputs share a vector.
template <int kInputs, int kRest>
HWY_INLINE void dense_weights_tile_and_rest(const FloatPairs& pairs, ptrdiff_t step, int co, float* gradients) {
  static_assert(kInputs % 2 == 0);
  const Wide d;
  const hn::CappedTag<float, 2 * kRest> two;
  const hn::CappedTag<float, kRest> one;
  const auto first_input = hn::FirstN(two, kRest);
  hn::Vec<Wide> sum[kInputs];
  hn::Vec<decltype(two)> rest[kInputs / 2];
  NASCENT_UNROLL
  for (int k = 0; k < kInputs; ++k) {
    sum[k] = hn::Zero(d);
    rest[k / 2] = hn::Zero(two);
  }
  for (int y = 0; y < pairs.rows; ++y) {
    const float *in = pairs.in.pixels + y * pairs.in.row, *gradient = pairs.gradient.pixels + y * pairs.gradient.row;
    for (int i = 0; i < pairs.pixels; ++i, in += step, gradient += co) {
      const auto g = hn::LoadU(d, gradient);
      const auto g_rest = repeated<kRest>(two, gradient + kWide);
      NASCENT_UNROLL
      for (int k = 0; k < kInputs; k += 2) {
        const auto a = hn::Set(d, in[k]), b = hn::Set(d, in[k + 1]);
        sum[k] = hn::MulAdd(a, g, sum[k]);
        sum[k + 1] = hn::MulAdd(b, g, sum[k + 1]);
        const auto both = hn::IfThenElse(first_input, half_of<2 * kRest>(a), half_of<2 * kRest>(b));
        rest[k / 2] = hn::MulAdd(both, g_rest, rest[k / 2]);
      }
    }
  }
  NASCENT_UNROLL
  for (int k = 0; k < kInputs; ++k, gradients += co) {
    add_to(d, sum[k], gradients);
    add_to(one, k % 2 == 0 ? hn::LowerHalf(one, rest[k / 2]) : hn::UpperHalf(one, rest[k / 2]), gradients + kWide);
  }
}

template <int kRest>
HWY_INLINE int dense_weights_and_rest(const FloatPairs& pairs, int ci, ptrdiff_t step, int co, float* gradients) {
  for_tiles<8>(ci / 2, [&](auto twos, int k) {
    FloatPairs seen = pairs;
    seen.in.pixels += 2 * k;
    dense_weights_tile_and_rest<2 * twos(), kRest>(seen, step, co, gradients + static_cast<ptrdiff_t>(2 * k) * co);
  });
  return ci / 2 * 2;
}
#endif

// Of the last `outputs`. Returns how many inputs it has done.
HWY_INLINE int dense_weights_and_rest([[maybe_unused]] const FloatPairs& pairs, [[maybe_unused]] int ci,
                                      [[maybe_unused]] ptrdiff_t step, [[maybe_unused]] int co,
                                      [[maybe_unused]] int outputs, [[maybe_unused]] float* gradients) {
#if HWY_TARGET <= HWY_AVX3
  if (outputs == kWide + 4) return dense_weights_and_rest<4>(pairs, ci, step, co, gradients);
  if (outputs == kWide + 8) return dense_weights_and_rest<8>(pairs, ci, step, co, gradients);
#endif
  return 0;
}

// Four inputs and four outputs, as in dense_quads().
template <class From>
HWY_INLINE bool dense_weights_in_quads(const RowPairs<const From>& pairs, int ci, ptrdiff_t step, int co,
                                       float* gradients) {
  if constexpr (kWide < 8) {
    return false;
  } else {
    if (ci != 4 || co != 4 || step != 4 || pixels_per_vector(4, pairs.pixels) == 1) return false;
    const Wide d;
    auto sum0 = hn::Zero(d), sum1 = sum0, sum2 = sum0, sum3 = sum0;
    for (int y = 0; y < pairs.rows; ++y) {
      const From *in = pairs.in.pixels + y * pairs.in.row, *gradient = pairs.gradient.pixels + y * pairs.gradient.row;
      for (int i = 0; i < 4 * pairs.pixels; i += kWide) {
        const auto x = load(d, in + i), g = load(d, gradient + i);
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

// On plain pointers.
template <class From>
HWY_INLINE RowPairs<const From> pairs_of(const RowPairs<const Stored>& pairs) {
  return {{pairs.in.pixels.as<From>(), pairs.in.row},
          {pairs.gradient.pixels.as<From>(), pairs.gradient.row},
          pairs.rows,
          pairs.pixels};
}

HWY_INLINE void dense_weights_of_floats(const DenseWeights& sums) {
  const FloatPairs all = pairs_of<float>(sums.pairs);
  const Taps taps = sums.taps;
  const ptrdiff_t step = sums.step;
  const int ci = sums.ci, co = sums.co;
  float* gradients = sums.gradients;
  for (int t = 0; t < taps.count; ++t, gradients += static_cast<ptrdiff_t>(ci) * co) {
    // What the tap sees, and the gradient from output b on.
    const auto pairs = [&, tap = taps.offsets[t]](int b) {
      FloatPairs seen = all;
      seen.in.pixels += tap;
      seen.gradient.pixels += b;
      return seen;
    };
    if (dense_weights_in_quads(pairs(0), ci, step, co, gradients)) continue;
    int b = 0, done = 0;  // inputs, of the outputs from b on
    const auto columns = [&](auto vectors, auto d, int at) {
      FloatPairs rest = pairs(at);
      rest.in.pixels += done;
      dense_weights_columns<vectors()>(d, rest, ci - done, step, co,
                                       gradients + static_cast<ptrdiff_t>(done) * co + at);
    };
    for (; b + 2 * kWide <= co; b += 2 * kWide) columns(std::integral_constant<int, 2>(), Wide(), b);
    done = dense_weights_and_rest(pairs(b), ci, step, co, co - b, gradients + b);
    for_blocks(
        co, [&](auto d, int at) { columns(std::integral_constant<int, 1>(), d, at); }, b);
  }
}

}  // namespace nascent::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // include guard per target
