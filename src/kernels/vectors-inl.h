// How the kernels walk over channels and pixels in vectors; included once per instruction set, like all files of this
// kind.
#if defined(NASCENT_VECTORS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef NASCENT_VECTORS_INL
#undef NASCENT_VECTORS_INL
#else
#define NASCENT_VECTORS_INL
#endif

#include <hwy/highway.h>

#include <type_traits>

#include "nascent/kernels/numbers.h"

#ifndef NASCENT_UNROLL
// Loops over registers must vanish, or the arrays of the kernels live in memory.
#define NASCENT_UNROLL _Pragma("GCC unroll 32")
#endif

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

// Calls body(size, at) for tiles of so many, kMost at a time and the rest in powers of two: a tile of few leaves the
// multipliers waiting for its sums.
template <int kMost, class Body>
HWY_INLINE void for_tiles(int count, Body body) {
  int at = 0;
  const auto tiles = [&](auto size) {
    if constexpr (size() <= kMost) {
      // Eight is better as four and four than as six and two.
      for (; count - at >= size() && !(size() == 6 && count - at == 8); at += size()) body(size, at);
    }
  };
  tiles(std::integral_constant<int, kMost>());
  tiles(std::integral_constant<int, 16>());
  tiles(std::integral_constant<int, 8>());
  tiles(std::integral_constant<int, 4>());
  tiles(std::integral_constant<int, 2>());
  tiles(std::integral_constant<int, 1>());
}

// ---- numbers of either kind: loads widen, stores round

template <class D>
HWY_INLINE hn::Vec<D> load(D d, const float* from) {
  return hn::LoadU(d, from);
}

template <class D>
HWY_INLINE void store(hn::Vec<D> x, D d, float* to) {
  hn::StoreU(x, d, to);
}

template <class D>
HWY_INLINE hn::Vec<D> load(D d, const Bf16* from) {
  const hn::RebindToUnsigned<D> whole;
  const hn::Rebind<uint16_t, D> half;
  const auto upper = hn::LoadU(half, reinterpret_cast<const uint16_t*>(from));
  return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(whole, upper)));
}

// As rounded() does.
template <class D>
HWY_INLINE void store(hn::Vec<D> x, D /* tag */, Bf16* to) {
  const hn::RebindToUnsigned<D> whole;
  const hn::Rebind<uint16_t, D> half;
  const auto bits = hn::BitCast(whole, x);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(whole, 1u));
  const auto up = hn::ShiftRight<16>(hn::Add(hn::Add(bits, hn::Set(whole, 0x7fffu)), odd));
  const auto quiet = hn::Or(hn::ShiftRight<16>(bits), hn::Set(whole, 0x40u));
  const auto upper = hn::IfThenElse(hn::RebindMask(whole, hn::IsNaN(x)), quiet, up);
  hn::StoreU(hn::TruncateTo(half, upper), half, reinterpret_cast<uint16_t*>(to));
}

#if HWY_TARGET == HWY_AVX3
// The same format, for CPUs that have instructions for it (AVX512_BF16). Written in assembly, so that this can be
// compiled beside code for CPUs without them. They take numbers below 2^-126 for zero.
struct NativeBf16 : Bf16 {};

template <class D>
HWY_INLINE void store(hn::Vec<D> x, D /* tag */, NativeBf16* to) {
  const hn::Rebind<uint16_t, D> half;
  hn::Vec<decltype(half)> upper;
  asm("vcvtneps2bf16 %1, %0" : "=v"(upper.raw) : "v"(x.raw));
  hn::StoreU(upper, half, reinterpret_cast<uint16_t*>(to));
}
#endif

// Calls body() with a number of the kind in question; `Half` is what the CPU takes bf16 for.
template <class Half, class Body>
HWY_INLINE void with_kind(Precision precision, Body body) {
  if (precision == Precision::single) {
    body(float());
  } else {
    body(Half());
  }
}

// The larger of the two, but x where that is not a number. (Highway leaves it to the CPU which of them Max gives then.)
template <class V>
HWY_INLINE V at_least(V low, V x) {
  if constexpr (HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128) {
    return hn::IfThenElse(hn::Lt(x, low), low, x);
  } else {
    return hn::Max(low, x);  // of x86, in this order
  }
}

template <class D>
HWY_INLINE hn::Vec<D> relu(D d, hn::Vec<D> x) {
  return at_least(hn::Zero(d), x);
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

// Floats that are added up at a time.
constexpr int kStretch = 4096;

}  // namespace nascent::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // include guard per target
