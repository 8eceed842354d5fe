// Dense convolutions of image_kernels.h on bf16. The products of two neighbours, of inputs or of pixels, are added to a
// sum together: by one instruction where the CPU has it, else as floats, in the same order, so that all CPUs give the
// same sums.
#if defined(NASCENT_PAIR_KERNELS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef NASCENT_PAIR_KERNELS_INL
#undef NASCENT_PAIR_KERNELS_INL
#else
#define NASCENT_PAIR_KERNELS_INL
#endif

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "nascent/kernels/dense_kernels-inl.h"
#include "nascent/kernels/image_kernels.h"
#include "nascent/kernels/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace nascent::kernels::HWY_NAMESPACE {

// A pair is stored in 32 bits, the first number in the lower ones.
template <class D>
using PairTag = hn::RebindToUnsigned<D>;

template <class D>
HWY_INLINE hn::Vec<D> first_of(D d, hn::Vec<PairTag<D>> pairs) {
  return hn::BitCast(d, hn::ShiftLeft<16>(pairs));
}

template <class D>
HWY_INLINE hn::Vec<D> second_of(D d, hn::Vec<PairTag<D>> pairs) {
  return hn::BitCast(d, hn::And(pairs, hn::Set(PairTag<D>(), 0xffff0000u)));
}

// Pairs that many others are multiplied with. A product of two bf16 is exact in a float, so it does not matter whether
// it is rounded before it is added.
template <class Half, class D>
struct Factor {
  HWY_INLINE void set(D d, hn::Vec<PairTag<D>> pairs) {
    first = first_of(d, pairs);
    second = second_of(d, pairs);
  }
  HWY_INLINE hn::Vec<D> add_products(D d, hn::Vec<PairTag<D>> pairs, hn::Vec<D> sum) const {
    sum = hn::MulAdd(second_of(d, pairs), second, sum);
    return hn::MulAdd(first_of(d, pairs), first, sum);
  }

  hn::Vec<D> first, second;
};

#if HWY_TARGET == HWY_AVX3
template <class D>
struct Factor<NativeBf16, D> {
  HWY_INLINE void set(D, hn::Vec<PairTag<D>> these) { factor = these; }
  HWY_INLINE hn::Vec<D> add_products(D, hn::Vec<PairTag<D>> pairs, hn::Vec<D> sum) const {
    asm("vdpbf16ps %2, %1, %0" : "+v"(sum.raw) : "v"(pairs.raw), "v"(factor.raw));
    return sum;
  }

  hn::Vec<PairTag<D>> factor;
};
#endif

HWY_INLINE uint32_t pair_at(const Bf16* at) {
  uint32_t pair;
  std::memcpy(&pair, at, sizeof pair);
  return pair;
}

template <class D>
HWY_INLINE hn::Vec<PairTag<D>> load_pairs(D, const Bf16* from) {
  return hn::LoadU(PairTag<D>(), reinterpret_cast<const uint32_t*>(from));
}

#if HWY_TARGET != HWY_SCALAR
// Four pairs of each of as many pixels as fit, which are `step` numbers apart.
template <class D>
HWY_INLINE hn::Vec<D> load_blocks(D d, const Bf16* from, ptrdiff_t step) {
  const auto load = [](auto tag, const Bf16* at)
                        HWY_ATTR { return hn::LoadU(tag, reinterpret_cast<const uint32_t*>(at)); };
  if constexpr (hn::MaxLanes(D()) == 4) {
    return load(d, from);
  } else {
    const hn::Half<D> half;
    const ptrdiff_t blocks = hn::MaxLanes(half) / 4;
    return hn::Combine(d, load_blocks(half, from + blocks * step, step), load_blocks(half, from, step));
  }
}
#endif

// Vectors of outputs at a time: as many as leave room for both halves of their weights.
constexpr int kPairVectors = HWY_TARGET <= HWY_AVX3 ? 2 : 1;

template <int kPixels, int kVectors, class D, class Half, class To>
HWY_INLINE void pair_tile(D d, const DenseOf<Half, To>& it) {
  const ptrdiff_t lanes = hn::Lanes(d), step = it.step, line = 2 * paired_outputs(it.co);
  const Bf16* weights = it.weights;
  hn::Vec<D> sum[kPixels][kVectors];
  NASCENT_UNROLL
  for (int p = 0; p < kPixels; ++p) {
    NASCENT_UNROLL
    for (int v = 0; v < kVectors; ++v) sum[p][v] = it.begin(d, p, v * lanes);
  }
  constexpr int kGroups = (kPixels + 3) / 4;  // as in dense_tile()
  const ptrdiff_t offsets[4] = {0, step, 2 * step, 3 * step};
  const int ci = it.ci;
  for (int t = 0; t < it.taps.count; ++t) {
    const Bf16* group[kGroups];
    NASCENT_UNROLL
    for (int g = 0; g < kGroups; ++g) group[g] = it.in + it.taps.offsets[t] + 4 * g * step;
    for (int k = 0; k < ci; k += 2, weights += line) {
      Factor<Half, D> w[kVectors];
      NASCENT_UNROLL
      for (int v = 0; v < kVectors; ++v) w[v].set(d, load_pairs(d, weights + 2 * v * lanes));
      NASCENT_UNROLL
      for (int p = 0; p < kPixels; ++p) {
        const auto x = hn::Set(PairTag<D>(), pair_at(group[p / 4] + offsets[p % 4]));
        NASCENT_UNROLL
        for (int v = 0; v < kVectors; ++v) sum[p][v] = w[v].add_products(d, x, sum[p][v]);
      }
      NASCENT_UNROLL
      for (int g = 0; g < kGroups; ++g) {
        group[g] += 2;
        asm("" : "+r"(group[g]));
      }
    }
  }
  NASCENT_UNROLL
  for (int p = 0; p < kPixels; ++p) {
    NASCENT_UNROLL
    for (int v = 0; v < kVectors; ++v) store(sum[p][v], d, it.out.first + p * it.out.pixel + v * lanes);
  }
}

template <int kVectors, class D, class Half, class To>
HWY_INLINE void pair_columns(D d, const DenseOf<Half, To>& it) {
  for_tiles<kAccumulators / kVectors>(
      it.pixels, [&](auto pixels, int i) { pair_tile<pixels(), kVectors>(d, it.part(i, 0, pixels())); });
}

// Four outputs of kVectors vectors of pixels. A vector takes eight inputs of each of its pixels, and spreads a pair of
// them over the outputs at a time.
template <int kVectors, class Half, class To>
HWY_INLINE void pair_fours_tile(const DenseOf<Half, To>& it) {
  constexpr int kTogether = kWide / 4, kPixels = kVectors * kTogether;
  const Wide d;
  const PairTag<Wide> whole;
  const hn::CappedTag<float, 4> four;
  const ptrdiff_t line = 2 * paired_outputs(it.co);
  HWY_ALIGN float sums[kPixels * 4];
  for (int p = 0; p < kPixels; ++p) hn::Store(it.begin(four, p, 0), four, sums + 4 * p);
  hn::Vec<Wide> sum[kVectors];
  NASCENT_UNROLL
  for (int v = 0; v < kVectors; ++v) sum[v] = hn::Load(d, sums + v * kWide);
  const Bf16* weights = it.weights;
  for (int t = 0; t < it.taps.count; ++t) {
    const Bf16* in = it.in + it.taps.offsets[t];
    for (int k = 0; k < it.ci;) {
      const int from = std::min(k, it.ci - 8);  // four inputs may be left: they are the last of eight
      hn::Vec<PairTag<Wide>> x[kVectors];
      NASCENT_UNROLL
      for (int v = 0; v < kVectors; ++v) x[v] = load_blocks(whole, in + v * kTogether * it.step + from, it.step);
      const auto add = [&](auto pair) HWY_ATTR {
        Factor<Half, Wide> w;
        w.set(d, hn::LoadDup128(whole, reinterpret_cast<const uint32_t*>(weights)));
        NASCENT_UNROLL
        for (int v = 0; v < kVectors; ++v) sum[v] = w.add_products(d, hn::Broadcast<pair()>(x[v]), sum[v]);
        weights += line;
      };
      if (from == k) {
        add(std::integral_constant<int, 0>());
        add(std::integral_constant<int, 1>());
      }
      add(std::integral_constant<int, 2>());
      add(std::integral_constant<int, 3>());
      k = from + 8;
    }
  }
  NASCENT_UNROLL
  for (int v = 0; v < kVectors; ++v) hn::Store(sum[v], d, sums + v * kWide);
  for (int p = 0; p < kPixels; ++p) store(hn::Load(four, sums + 4 * p), four, it.out.first + p * it.out.pixel);
}

// Whether it was done so; else the pixels that are left take a quarter of a vector each.
template <class Half, class To>
HWY_INLINE void pair_fours(const DenseOf<Half, To>& it) {
  int done = 0;
  if constexpr (kWide >= 8) {
    constexpr int kTogether = kWide / 4;
    if (it.ci >= 8) {
      for_tiles<8>(it.pixels / kTogether, [&](auto vectors, int i) {
        pair_fours_tile<vectors()>(it.part(i * kTogether, 0, vectors() * kTogether));
      });
      done = it.pixels / kTogether * kTogether;
    }
  }
  pair_columns<1>(hn::CappedTag<float, 4>(), it.part(done, 0, it.pixels - done));
}

template <class Half, class To>
HWY_INLINE void dense_pairs(const Dense& convolution) {
  DenseOf<Half, To> it(convolution);
  if (dense_in_quads(it)) return;
  it.ci = padded(it.ci);
  int b = 0;
  for (; b + kPairVectors * kWide <= it.co; b += kPairVectors * kWide)
    pair_columns<kPairVectors>(Wide(), it.part(0, b, it.pixels));
  for_blocks(
      it.co,
      [&](auto d, int at) {
        if constexpr (kWide > 4 && hn::MaxLanes(decltype(d)()) == 4) {
          pair_fours(it.part(0, at, it.pixels));
        } else {
          pair_columns<1>(d, it.part(0, at, it.pixels));
        }
      },
      b);
}

template <class Half>
void dense(const Dense& it) {
  if (it.in.precision() == Precision::single) return dense_floats(it);
  with_kind<Half>(it.out.first.precision(), [&]<class To>(To) { dense_pairs<Half, To>(it); });
}

// ---- gradients of weights

// Channels that are taken at a time, and the pixels of which pairs are made.
constexpr int kPairChannels = 80, kPairPixels = 64;

// Pixels of some channels in pairs: [pixel / 2][channel][2], behind the last a zero if their number is odd.
struct PixelPairs {
  HWY_ALIGN uint32_t pairs[kPairPixels / 2][kPairChannels];
};

// Walks over the pixels of RowPairs.
struct PixelWalk {
  const Bf16* at;
  ptrdiff_t pixel, row;
  int width;
  int x = 0;

  HWY_INLINE const Bf16* next() {
    const Bf16* here = at;
    at += pixel;
    if (++x == width) {
      x = 0;
      at += row - width * pixel;
    }
    return here;
  }
};

HWY_INLINE void make_pairs(const PixelWalk& begin, int pixels, int c, PixelPairs& to) {
  for_blocks(c, [&](auto d, int b) {
    const PairTag<decltype(d)> whole;
    const hn::Rebind<uint16_t, decltype(d)> half;
    PixelWalk walk = begin;
    const auto next = [&]() HWY_ATTR {
      return hn::PromoteTo(whole, hn::LoadU(half, reinterpret_cast<const uint16_t*>(walk.next() + b)));
    };
    for (int i = 0; i < pixels; i += 2) {
      const auto low = next(), high = i + 1 < pixels ? next() : hn::Zero(whole);
      hn::StoreU(hn::Or(low, hn::ShiftLeft<16>(high)), whole, to.pairs[i / 2] + b);
    }
  });
}

// gradients[k][o] += sum over pairs of pixels, for kInputs inputs.
template <int kInputs, int kVectors, class Half, class D>
HWY_INLINE void pair_weights_tile(D d, const PixelPairs& in, int k, const PixelPairs& gradient, int o, int count,
                                  int co, float* gradients) {
  const ptrdiff_t lanes = hn::Lanes(d);
  hn::Vec<D> sum[kInputs][kVectors];
  NASCENT_UNROLL
  for (int u = 0; u < kInputs; ++u) {
    NASCENT_UNROLL
    for (int v = 0; v < kVectors; ++v) sum[u][v] = hn::Zero(d);
  }
  for (int i = 0; i < count; ++i) {
    Factor<Half, D> g[kVectors];
    NASCENT_UNROLL
    for (int v = 0; v < kVectors; ++v) g[v].set(d, hn::LoadU(PairTag<D>(), gradient.pairs[i] + o + v * lanes));
    NASCENT_UNROLL
    for (int u = 0; u < kInputs; ++u) {
      const auto x = hn::Set(PairTag<D>(), in.pairs[i][k + u]);
      NASCENT_UNROLL
      for (int v = 0; v < kVectors; ++v) sum[u][v] = g[v].add_products(d, x, sum[u][v]);
    }
  }
  NASCENT_UNROLL
  for (int u = 0; u < kInputs; ++u) {
    NASCENT_UNROLL
    for (int v = 0; v < kVectors; ++v) add_to(d, sum[u][v], gradients + static_cast<ptrdiff_t>(u) * co + v * lanes);
  }
}

template <int kVectors, class Half, class D>
HWY_INLINE void pair_weights_columns(D d, const PixelPairs& in, int inputs, const PixelPairs& gradient, int o,
                                     int count, int co, float* gradients) {
  for_tiles<kAccumulators / kVectors>(inputs, [&](auto together, int k) {
    pair_weights_tile<together(), kVectors, Half>(d, in, k, gradient, o, count, co,
                                                  gradients + static_cast<ptrdiff_t>(k) * co);
  });
}

#if HWY_TARGET != HWY_SCALAR
// Four outputs: a vector holds the sums of several inputs.
template <int kVectors, class Half>
HWY_INLINE void pair_weights_fours_tile(const PixelPairs& in, int k, const PixelPairs& gradient, int o, int count,
                                        int co, float* gradients) {
  constexpr int kTogether = kWide / 4;
  const Wide d;
  const PairTag<Wide> whole;
  const hn::CappedTag<float, 4> four;
  HWY_ALIGN uint32_t places[kWide];  // of bytes: in the i-th block those of the i-th input, four times
  for (int i = 0; i < kWide; ++i) places[i] = 0x03020100u + 0x04040404u * static_cast<uint32_t>(i / 4);
  const auto spread = hn::Load(whole, places);
  hn::Vec<Wide> sum[kVectors];
  NASCENT_UNROLL
  for (int v = 0; v < kVectors; ++v) sum[v] = hn::Zero(d);
  for (int i = 0; i < count; ++i) {
    Factor<Half, Wide> g;
    g.set(d, hn::LoadDup128(whole, gradient.pairs[i] + o));
    NASCENT_UNROLL
    for (int v = 0; v < kVectors; ++v) {
      const auto x = hn::LoadDup128(whole, in.pairs[i] + k + v * kTogether);
      sum[v] = g.add_products(d, hn::TableLookupBytes(x, spread), sum[v]);
    }
  }
  HWY_ALIGN float sums[kVectors * kWide];
  NASCENT_UNROLL
  for (int v = 0; v < kVectors; ++v) hn::Store(sum[v], d, sums + v * kWide);
  for (int u = 0; u < kVectors * kTogether; ++u, gradients += co) add_to(four, hn::Load(four, sums + 4 * u), gradients);
}
#endif

template <class Half, class D>
HWY_INLINE void pair_weights_fours(D d, const PixelPairs& in, int inputs, const PixelPairs& gradient, int o, int count,
                                   int co, float* gradients) {
  int done = 0;
#if HWY_TARGET != HWY_SCALAR
  constexpr int kTogether = kWide / 4;
  for_tiles<8>(inputs / kTogether, [&](auto vectors, int i) {
    const int k = i * kTogether;
    pair_weights_fours_tile<vectors(), Half>(in, k, gradient, o, count, co, gradients + static_cast<ptrdiff_t>(k) * co);
  });
  done = inputs / kTogether * kTogether;
#endif
  for (int k = done; k < inputs; ++k)
    pair_weights_tile<1, 1, Half>(d, in, k, gradient, o, count, co, gradients + static_cast<ptrdiff_t>(k) * co);
}

// A block of inputs and outputs, both at most kPairChannels, of `count` pairs of pixels; rows of the gradients are `co`
// floats apart.
template <class Half>
HWY_INLINE void pair_weights_block(const PixelPairs& in, int inputs, const PixelPairs& gradient, int outputs, int count,
                                   int co, float* gradients) {
  int o = 0;
  for (; o + kPairVectors * kWide <= outputs; o += kPairVectors * kWide)
    pair_weights_columns<kPairVectors, Half>(Wide(), in, inputs, gradient, o, count, co, gradients + o);
  for_blocks(
      outputs,
      [&](auto d, int at) {
        if constexpr (kWide > 4 && hn::MaxLanes(decltype(d)()) == 4) {
          pair_weights_fours<Half>(d, in, inputs, gradient, at, count, co, gradients + at);
        } else {
          pair_weights_columns<1, Half>(d, in, inputs, gradient, at, count, co, gradients + at);
        }
      },
      o);
}

// Calls block(pairs of inputs, inputs, pairs of gradients, outputs, pairs, co, gradients) for all pixels, channels and
// taps.
template <class Block>
HWY_INLINE void for_pair_blocks(const DenseWeights& sums, Block block) {
  const RowPairs<const Bf16> pairs = pairs_of<Bf16>(sums.pairs);
  const int all = pairs.rows * pairs.pixels, ci = sums.ci, co = sums.co;
  PixelPairs in, gradient;
  for (int i = 0; i < all; i += kPairPixels) {
    const int here = std::min(kPairPixels, all - i), y = i / pairs.pixels, x = i % pairs.pixels;
    const auto walk = [&](const Rows<const Bf16>& rows, ptrdiff_t pixel, ptrdiff_t offset) {
      return PixelWalk{rows.pixels + y * rows.row + x * pixel + offset, pixel, rows.row, pairs.pixels, x};
    };
    for (int o = 0; o < co; o += kPairChannels) {
      const int outputs = std::min(kPairChannels, co - o);
      make_pairs(walk(pairs.gradient, co, o), here, outputs, gradient);
      for (int t = 0; t < sums.taps.count; ++t) {
        for (int k = 0; k < ci; k += kPairChannels) {
          const int inputs = std::min(kPairChannels, ci - k);
          make_pairs(walk(pairs.in, sums.step, sums.taps.offsets[t] + k), here, padded(inputs), in);
          block(in, inputs, gradient, outputs, (here + 1) / 2, co,
                sums.gradients + (static_cast<ptrdiff_t>(t) * ci + k) * co + o);
        }
      }
    }
  }
}

// Whether it was done as for few channels, several pixels in a vector.
HWY_INLINE bool pair_weights_in_quads(const DenseWeights& sums) {
  RowPairs<const Bf16> pairs = pairs_of<Bf16>(sums.pairs);
  const Bf16* first = pairs.in.pixels;
  for (int t = 0; t < sums.taps.count; ++t) {
    pairs.in.pixels = first + sums.taps.offsets[t];
    if (!dense_weights_in_quads(pairs, sums.ci, sums.step, sums.co, sums.gradients + 16 * t)) return false;
  }
  return true;
}

template <class Half>
void dense_weights(const DenseWeights& sums) {
  if (sums.pairs.in.pixels.precision() == Precision::single) return dense_weights_of_floats(sums);
  if (pair_weights_in_quads(sums)) return;
  for_pair_blocks(sums, [](auto&&... block) { pair_weights_block<Half>(block...); });
}

}  // namespace nascent::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // include guard per target
