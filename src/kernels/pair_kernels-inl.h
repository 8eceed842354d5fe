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
  for (int t = 0; t < it.taps.count; ++t) {
    const Bf16* in = it.in + it.taps.offsets[t];
    for (int k = 0; k < it.ci; k += 2, in += 2, weights += line) {
      Factor<Half, D> w[kVectors];
      NASCENT_UNROLL
      for (int v = 0; v < kVectors; ++v) w[v].set(d, load_pairs(d, weights + 2 * v * lanes));
      NASCENT_UNROLL
      for (int p = 0; p < kPixels; ++p) {
        const auto x = hn::Set(PairTag<D>(), pair_at(in + p * step));
        NASCENT_UNROLL
        for (int v = 0; v < kVectors; ++v) sum[p][v] = w[v].add_products(d, x, sum[p][v]);
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

template <class Half, class To>
HWY_INLINE void dense_pairs(const Dense& convolution) {
  DenseOf<Half, To> it(convolution);
  if (dense_in_quads(it)) return;
  it.ci = padded(it.ci);
  int b = 0;
  for (; b + kPairVectors * kWide <= it.co; b += kPairVectors * kWide)
    pair_columns<kPairVectors>(Wide(), it.part(0, b, it.pixels));
  for_blocks(
      it.co, [&](auto d, int at) { pair_columns<1>(d, it.part(0, at, it.pixels)); }, b);
}

template <class Half>
void dense(const Dense& it) {
  if (it.in.precision() == Precision::single) return dense_floats(it);
  with_kind<Half>(it.out.first.precision(), [&]<class To>(To) { dense_pairs<Half, To>(it); });
}

// ---- gradients of weights

// Channels that are taken at a time, and the pixels of which pairs are made.
constexpr int kPairChannels = 64, kPairPixels = 32;

// Pixels of some channels in pairs: [pixel / 2][channel][2], zeros behind the last.
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

HWY_INLINE void make_pairs(PixelWalk walk, int pixels, int c, PixelPairs& to) {
  for (int i = 0; i < kPairPixels; i += 2) {
    uint32_t* pairs = to.pairs[i / 2];
    if (i >= pixels) {
      std::fill_n(pairs, c, 0u);
      continue;
    }
    const auto* first = reinterpret_cast<const uint16_t*>(walk.next());
    const auto* second = i + 1 < pixels ? reinterpret_cast<const uint16_t*>(walk.next()) : nullptr;
    for_blocks(c, [&](auto d, int b) {
      const PairTag<decltype(d)> whole;
      const hn::Rebind<uint16_t, decltype(d)> half;
      const auto low = hn::PromoteTo(whole, hn::LoadU(half, first + b));
      const auto high = second ? hn::PromoteTo(whole, hn::LoadU(half, second + b)) : hn::Zero(whole);
      hn::StoreU(hn::Or(low, hn::ShiftLeft<16>(high)), whole, pairs + b);
    });
  }
}

// gradients[k][o] += sum over pairs of pixels, for kInputs inputs.
template <int kInputs, int kVectors, class Half, class D>
HWY_INLINE void pair_weights_tile(D d, const PixelPairs& in, int k, const PixelPairs& gradient, int o, int co,
                                  float* gradients) {
  const ptrdiff_t lanes = hn::Lanes(d);
  hn::Vec<D> sum[kInputs][kVectors];
  NASCENT_UNROLL
  for (int u = 0; u < kInputs; ++u) {
    NASCENT_UNROLL
    for (int v = 0; v < kVectors; ++v) sum[u][v] = hn::Zero(d);
  }
  for (int i = 0; i < kPairPixels / 2; ++i) {
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
HWY_INLINE void pair_weights_columns(D d, const PixelPairs& in, int inputs, const PixelPairs& gradient, int o, int co,
                                     float* gradients) {
  for_tiles<kAccumulators / kVectors>(inputs, [&](auto together, int k) {
    pair_weights_tile<together(), kVectors, Half>(d, in, k, gradient, o, co,
                                                  gradients + static_cast<ptrdiff_t>(k) * co);
  });
}

// A block of inputs and outputs, both at most kPairChannels; rows of the gradients are `co` floats apart.
template <class Half>
HWY_INLINE void pair_weights_block(const PixelPairs& in, int inputs, const PixelPairs& gradient, int outputs, int co,
                                   float* gradients) {
  int o = 0;
  for (; o + kPairVectors * kWide <= outputs; o += kPairVectors * kWide)
    pair_weights_columns<kPairVectors, Half>(Wide(), in, inputs, gradient, o, co, gradients + o);
  for_blocks(
      outputs, [&](auto d, int at) { pair_weights_columns<1, Half>(d, in, inputs, gradient, at, co, gradients + at); },
      o);
}

// Calls block(pairs of inputs, inputs, pairs of gradients, outputs, co, gradients) for all pixels, channels and taps.
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
          block(in, inputs, gradient, outputs, co, sums.gradients + (static_cast<ptrdiff_t>(t) * ci + k) * co + o);
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
