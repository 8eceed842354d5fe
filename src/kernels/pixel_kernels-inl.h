// What image_kernels.h moves from pixel to pixel: padding, copies, groups of channels.
#if defined(NASCENT_PIXEL_KERNELS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef NASCENT_PIXEL_KERNELS_INL
#undef NASCENT_PIXEL_KERNELS_INL
#else
#define NASCENT_PIXEL_KERNELS_INL
#endif

#include <algorithm>
#include <cstdint>
#include <limits>

#include "nascent/kernels/image_kernels.h"
#include "nascent/kernels/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace nascent::kernels::HWY_NAMESPACE {

template <class D>
HWY_INLINE hn::Vec<D> load_first(D d, const float* p, int count) {
  if (count <= 0) return hn::Zero(d);  // a vector of padding
  return hn::MaskedLoad(hn::FirstN(d, static_cast<size_t>(count)), d, p);
}

template <class D>
HWY_INLINE hn::Vec<D> load_first(D d, const Bf16* p, int count) {
  Bf16 some[kWide] = {};
  if (count > 0) std::copy_n(p, count, some);
  return load(d, some);
}

template <class From, class To>
HWY_INLINE void pad_row(const Padding& it, const From* x, To* out) {
  const ptrdiff_t pixel = it.x.pixel;
  const int channels = it.channels, w = it.w, c = it.c;
  const float *scale = it.scale, *shift = it.shift;
  const bool use_relu = it.relu;
  if (!scale && pixel == c && channels == c) {  // all floats alike: no vector ends with a pixel
    const Wide d;
    const auto low = use_relu ? hn::Zero(d) : hn::Set(d, -std::numeric_limits<float>::infinity());
    const int floats = w * c, whole = floats / kWide * kWide;
    for (int i = 0; i < whole; i += kWide) store(at_least(low, load(d, x + i)), d, out + i);
    const hn::CappedTag<float, 1> one;
    const auto lowest = use_relu ? hn::Zero(one) : hn::Set(one, -std::numeric_limits<float>::infinity());
    for (int i = whole; i < floats; ++i) store(at_least(lowest, load(one, x + i)), one, out + i);
    return;
  }
  for_blocks(c, [&](auto d, int b) {
    const int lanes = static_cast<int>(hn::Lanes(d)), here = std::min(lanes, channels - b);
    const auto a = scale ? hn::LoadU(d, scale + b) : hn::Set(d, 1.0f);
    const auto s = scale ? hn::LoadU(d, shift + b) : hn::Zero(d);
    const auto low = use_relu ? hn::Zero(d) : hn::Set(d, -std::numeric_limits<float>::infinity());
    for (int i = 0; i < w; ++i) {
      const From* p = x + i * pixel + b;
      const auto v = here == lanes ? load(d, p) : load_first(d, p, here);
      store(at_least(low, hn::MulAdd(a, v, s)), d, out + static_cast<ptrdiff_t>(i) * c + b);
    }
  });
}

template <class From, class To>
HWY_INLINE void pad_image(const Padding& padding) {
  Padding it = padding;
  Repeated scales, shifts;
  const ptrdiff_t line = it.w * it.x.pixel;
  const bool dense = it.x.pixel == it.c && it.channels == it.c;
  if (const int together = dense ? pixels_per_vector(it.c, it.w) : 1; together > 1) {
    it.scale = scales(it.scale, it.c);
    it.shift = shifts(it.shift, it.c);
    it.x.pixel = it.channels = it.c = kWide;
    it.w /= together;
  }
  const From* x = it.x.first.as<From>();
  To* out = it.out.pixels.as<To>();
  for (int y = 0; y < it.h; ++y) pad_row(it, x + y * line, out + y * it.out.row);
}

template <class Half>
void pad(const Padding& it) {
  with_kind<Half>(it.x.first.precision(), [&]<class From>(From) {
    with_kind<Half>(it.out.pixels.precision(), [&]<class To>(To) { pad_image<From, To>(it); });
  });
}

// Of the bytes of either kind, as if they were floats.
void stream(ConstNumbers from_numbers, size_t numbers, Numbers to_numbers) {
  const Wide d;
  const float* from = from_numbers.as<float>();
  float* to = to_numbers.as<float>();
  const size_t floats = floats_for(numbers, to_numbers.precision());
  size_t i = 0;
  for (; i < floats && reinterpret_cast<uintptr_t>(to + i) % (kWide * sizeof(float)) != 0; ++i) to[i] = from[i];
  for (; i + kWide <= floats; i += kWide) hn::Stream(hn::LoadU(d, from + i), d, to + i);
  std::copy(from + i, from + floats, to + i);
}

void add_strided(const float* from, int pixels, int c, Pixels<float> to) {
  float* at = to.first;
  for (int i = 0; i < pixels; ++i, from += c, at += to.pixel) {
    for_blocks(c, [&](auto d, int b) { hn::StoreU(hn::Add(hn::LoadU(d, from + b), hn::LoadU(d, at + b)), d, at + b); });
  }
}

template <class Half>
void add_scaled(Pixels<const Stored> from, float weight, size_t pixels, int c, Pixels<float> to) {
  with_kind<Half>(from.first.precision(), [&]<class From>(From) {
    const From* first = from.first.as<From>();
    for (size_t i = 0; i < pixels; ++i, first += from.pixel, to.first += to.pixel) {
      for_blocks(c, [x = first, y = to.first, weight](auto d, int b) {
        hn::StoreU(hn::MulAdd(hn::Set(d, weight), load(d, x + b), hn::LoadU(d, y + b)), d, y + b);
      });
    }
  });
}

// In single precision over stretches that are short enough for it.
SquaredNorms add_and_compare(const float* from, size_t floats, float share, float* to) {
  constexpr size_t kStretch = 1024;
  const Wide d;
  const auto shares = hn::Set(d, share);
  SquaredNorms sum;
  size_t i = 0;
  while (i + kWide <= floats) {
    auto own = hn::Zero(d), distance = hn::Zero(d);
    for (const size_t end = std::min(i + kStretch, floats - floats % kWide); i < end; i += kWide) {
      const auto x = hn::LoadU(d, from + i), before = hn::LoadU(d, to + i);
      const auto apart = hn::NegMulAdd(shares, before, x);
      own = hn::MulAdd(x, x, own);
      distance = hn::MulAdd(apart, apart, distance);
      hn::StoreU(hn::Add(before, x), d, to + i);
    }
    sum.own += static_cast<double>(hn::GetLane(hn::SumOfLanes(d, own)));
    sum.distance += static_cast<double>(hn::GetLane(hn::SumOfLanes(d, distance)));
  }
  for (; i < floats; ++i) {
    const float apart = from[i] - share * to[i];
    sum.own += from[i] * from[i];
    sum.distance += apart * apart;
    to[i] += from[i];
  }
  return sum;
}

template <class Half>
void copy_pixels(ConstNumbers from, size_t pixels, int c, Pixels<Stored> to) {
  with_kind<Half>(from.precision(), [&]<class From>(From) {
    with_kind<Half>(to.first.precision(), [&]<class To>(To) {
      const From* x = from.as<From>();
      To* y = to.first.as<To>();
      for (size_t i = 0; i < pixels; ++i, x += c, y += to.pixel)
        for_blocks(c, [&](auto d, int b) { store(load(d, x + b), d, y + b); });
    });
  });
}

// Four groups of whole vectors, as partial channels mostly are.
HWY_INLINE bool is_four_by_four(int channels, int groups) { return groups == 4 && channels % 16 == 0; }

// `Number` is as wide as what is stored.
template <class Number>
HWY_INLINE void join_numbers(const Groups& it, Pixels<const Stored> from_first, Pixels<const Stored> from_rest,
                             Pixels<Stored> to) {
  const int channels = it.channels, groups = it.groups, each = channels / groups;
  const Number *first = from_first.first.as<Number>(), *rest = from_rest.first.as<Number>();
  Number* whole = to.first.as<Number>();
  for (size_t i = 0; i < it.pixels; ++i, first += from_first.pixel, rest += from_rest.pixel, whole += to.pixel) {
    if (is_four_by_four(channels, groups)) {
      for_blocks(each, [&](auto floats, int b) {
        const hn::Rebind<Number, decltype(floats)> d;
        hn::StoreInterleaved4(hn::LoadU(d, first + b), hn::LoadU(d, rest + b), hn::LoadU(d, rest + each + b),
                              hn::LoadU(d, rest + 2 * each + b), d, whole + 4 * b);
      });
      continue;
    }
    for (int j = 0; j < each; ++j) {
      whole[j * groups] = first[j];
      for (int g = 1; g < groups; ++g) whole[j * groups + g] = rest[(g - 1) * each + j];
    }
    std::fill(whole + channels, whole + padded(channels), Number(0));
  }
}

void join_groups(const Groups& it, Pixels<const Stored> first, Pixels<const Stored> rest, Pixels<Stored> to) {
  if (to.first.precision() == Precision::single) {
    join_numbers<float>(it, first, rest, to);
  } else {
    join_numbers<uint16_t>(it, first, rest, to);
  }
}

template <class To>
HWY_INLINE void split_numbers(const Groups& it, Pixels<const float> from, Pixels<Stored> to_first,
                              Pixels<Stored> to_rest) {
  const int channels = it.channels, groups = it.groups, each = channels / groups, others = channels - each;
  const float* whole = from.first;
  To *first = to_first.first.as<To>(), *rest = to_rest.first.as<To>();
  const hn::CappedTag<float, 1> one;
  const auto put = [&](float number, To* at) { store(hn::Set(one, number), one, at); };
  for (size_t i = 0; i < it.pixels; ++i, whole += from.pixel, first += to_first.pixel, rest += to_rest.pixel) {
    if (is_four_by_four(channels, groups)) {
      for_blocks(each, [&](auto d, int b) {
        hn::Vec<decltype(d)> group[4];
        hn::LoadInterleaved4(d, whole + 4 * b, group[0], group[1], group[2], group[3]);
        store(group[0], d, first + b);
        for (int g = 1; g < 4; ++g) store(group[g], d, rest + (g - 1) * each + b);
      });
      continue;
    }
    for (int j = 0; j < each; ++j) {
      put(whole[j * groups], first + j);
      for (int g = 1; g < groups; ++g) put(whole[j * groups + g], rest + (g - 1) * each + j);
    }
    std::fill(first + each, first + padded(each), To{});
    std::fill(rest + others, rest + padded(others), To{});
  }
}

template <class Half>
void split_groups(const Groups& it, Pixels<const float> whole, Pixels<Stored> first, Pixels<Stored> rest) {
  with_kind<Half>(first.first.precision(), [&]<class To>(To) { split_numbers<To>(it, whole, first, rest); });
}

}  // namespace nascent::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // include guard per target
