// Mixtures of image_kernels.h, sums over their pixels, and their gradients.
#if defined(NASCENT_MIXTURE_KERNELS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef NASCENT_MIXTURE_KERNELS_INL
#undef NASCENT_MIXTURE_KERNELS_INL
#else
#define NASCENT_MIXTURE_KERNELS_INL
#endif

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "nascent/kernels/image_kernels.h"
#include "nascent/kernels/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace nascent::kernels::HWY_NAMESPACE {

// ---- sums over pixels

template <class From>
void moments_of(const From* x, size_t pixels, int c, const float* shift, float* sums) {
  if (const int together = pixels_per_vector(c, pixels); together > 1) {
    Repeated shifts;
    float wide[2 * kWide] = {};
    moments_of(x, pixels / together, kWide, shifts(shift, c), wide);
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
        const auto v = hn::Sub(load(d, x + (i + u) * c + b), centre);
        sum[u] = hn::Add(sum[u], v);
        squares[u] = hn::MulAdd(v, v, squares[u]);
      }
    }
    for (; i < pixels; ++i) {
      const auto v = hn::Sub(load(d, x + i * c + b), centre);
      sum[0] = hn::Add(sum[0], v);
      squares[0] = hn::MulAdd(v, v, squares[0]);
    }
    add_to(d, hn::Add(sum[0], sum[1]), sums + b);
    add_to(d, hn::Add(squares[0], squares[1]), sums + c + b);
  });
}

template <class Half>
void moments(ConstNumbers x, size_t pixels, int c, const float* shift, float* sums) {
  with_kind<Half>(x.precision(), [&]<class From>(From) { moments_of(x.as<From>(), pixels, c, shift, sums); });
}

// ---- mixtures

// Adds to what is there where `bias` is null.
template <int kPixels, class From, class To, class D>
HWY_INLINE void mix_tile(D d, const MixTerm* terms, int count, const float* bias, size_t pixel, int b,
                         Pixels<To> image) {
  hn::Vec<D> sum[kPixels];
  const ptrdiff_t out_pixel = image.pixel;
  To* out = image.first + static_cast<ptrdiff_t>(pixel) * out_pixel + b;
  NASCENT_UNROLL
  for (int p = 0; p < kPixels; ++p) sum[p] = bias ? hn::LoadU(d, bias + b) : load(d, out + p * out_pixel);
  for (int t = 0; t < count; ++t) {
    const MixTerm& term = terms[t];
    const auto a = hn::LoadU(d, term.scale + b);
    const From* x = term.value.as<From>() + static_cast<ptrdiff_t>(pixel) * term.pixel + b;
    if (term.relu) {
      const auto s = hn::LoadU(d, term.shift + b), w = hn::Set(d, term.weight);
      NASCENT_UNROLL
      for (int p = 0; p < kPixels; ++p)
        sum[p] = hn::MulAdd(w, relu(d, hn::MulAdd(a, load(d, x + p * term.pixel), s)), sum[p]);
    } else {
      NASCENT_UNROLL
      for (int p = 0; p < kPixels; ++p) sum[p] = hn::MulAdd(a, load(d, x + p * term.pixel), sum[p]);
    }
  }
  NASCENT_UNROLL
  for (int p = 0; p < kPixels; ++p) store(sum[p], d, out + p * out_pixel);
}

template <class From, class To>
HWY_INLINE void mix_some(const MixTerm* terms, int count, const float* bias, size_t pixels, int c, Pixels<To> out) {
  const auto tile = [&](auto at_once, size_t i) {
    for_blocks(c, [&](auto d, int b) { mix_tile<at_once(), From>(d, terms, count, bias, i, b, out); });
  };
  size_t i = 0;
  for (; i + 8 <= pixels; i += 8) tile(std::integral_constant<int, 8>(), i);
  for (; i < pixels; ++i) tile(std::integral_constant<int, 1>(), i);
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
constexpr int kTermsAtOnce = 8;

template <class From, class To>
HWY_INLINE void mix_group(const MixTerm* terms, int count, const float* bias, size_t pixels, int c, Pixels<To> out) {
  const int together = out.pixel == c ? pixels_per_vector(terms, count, c, pixels) : 1;
  if (together > 1) {
    const WideTerms<kTermsAtOnce> wide(terms, count, c);
    Repeated biases;
    mix_some<From, To>(wide.terms, count, biases(bias, c), pixels / together, kWide, {out.first, kWide});
  } else {
    mix_some<From, To>(terms, count, bias, pixels, c, out);
  }
}

template <class From, class To>
HWY_INLINE void mix_all(std::span<const MixTerm> all, const float* bias, size_t pixels, int c, Pixels<To> out) {
  const int count = static_cast<int>(all.size());
  for (int t = 0; t == 0 || t < count; t += kTermsAtOnce)
    mix_group<From, To>(all.data() + t, std::min(kTermsAtOnce, count - t), t == 0 ? bias : nullptr, pixels, c, out);
}

// The same, rounded once: some pixels at a time are added up in floats.
template <class From, class To>
HWY_INLINE void mix_in_stretches(std::span<const MixTerm> all, const float* bias, size_t pixels, int c,
                                 Pixels<To> out) {
  HWY_ALIGN float sums[kStretch];
  const int count = static_cast<int>(all.size());
  const size_t most = kStretch / c;
  for (size_t i = 0; i < pixels; i += most) {
    const size_t here = std::min(most, pixels - i);
    for (int t = 0; t < count; t += kTermsAtOnce) {
      MixTerm group[kTermsAtOnce];
      const int terms = std::min(kTermsAtOnce, count - t);
      std::copy_n(all.data() + t, terms, group);
      for (MixTerm& term : group) {
        if (term.value) term.value += static_cast<ptrdiff_t>(i) * term.pixel;
      }
      mix_group<From, float>(group, terms, t == 0 ? bias : nullptr, here, c, {sums, c});
    }
    const float* from = sums;
    To* to = out.first + static_cast<ptrdiff_t>(i) * out.pixel;
    for (size_t p = 0; p < here; ++p, from += c, to += out.pixel)
      for_blocks(c, [&](auto d, int b) { store(hn::LoadU(d, from + b), d, to + b); });
  }
}

template <class Half>
void mix(std::span<const MixTerm> terms, const float* bias, size_t pixels, int c, Pixels<Stored> out) {
  const Precision to = out.first.precision(), from = terms.empty() ? to : terms[0].value.precision();
  with_kind<Half>(from, [&]<class From>(From) {
    with_kind<Half>(to, [&]<class To>(To) {
      const Pixels<To> image = {out.first.template as<To>(), out.pixel};
      if (!std::is_same_v<To, float> && terms.size() > kTermsAtOnce && c <= kStretch) {
        mix_in_stretches<From, To>(terms, bias, pixels, c, image);
      } else {
        mix_all<From, To>(terms, bias, pixels, c, image);
      }
    });
  });
}

// Over a stretch of pixels, for kTerms terms without relu; added to the second row of each.
template <int kTerms, class From, class D>
HWY_INLINE void product_sums(D d, const From* g, const MixTerm* terms, size_t from, size_t to, int b, int c,
                             float* sums) {
  hn::Vec<D> even[kTerms], odd[kTerms], centre[kTerms];
  const From* x[kTerms];
  ptrdiff_t pixel[kTerms];
  NASCENT_UNROLL
  for (int t = 0; t < kTerms; ++t) {
    even[t] = odd[t] = hn::Zero(d);
    centre[t] = terms[t].centre ? hn::LoadU(d, terms[t].centre + b) : hn::Zero(d);
    pixel[t] = terms[t].pixel;
    x[t] = terms[t].value.template as<From>() + static_cast<ptrdiff_t>(from) * pixel[t] + b;
  }
  size_t i = from;
  for (; i + 2 <= to; i += 2) {
    const auto first = load(d, g + i * c + b), second = load(d, g + (i + 1) * c + b);
    NASCENT_UNROLL
    for (int t = 0; t < kTerms; ++t) {
      even[t] = hn::MulAdd(first, hn::Sub(load(d, x[t]), centre[t]), even[t]);
      odd[t] = hn::MulAdd(second, hn::Sub(load(d, x[t] + pixel[t]), centre[t]), odd[t]);
      x[t] += 2 * pixel[t];
    }
  }
  if (i < to) {
    const auto last = load(d, g + i * c + b);
    NASCENT_UNROLL
    for (int t = 0; t < kTerms; ++t) even[t] = hn::MulAdd(last, hn::Sub(load(d, x[t]), centre[t]), even[t]);
  }
  NASCENT_UNROLL
  for (int t = 0; t < kTerms; ++t)
    add_to(d, hn::Add(even[t], odd[t]), sums + static_cast<ptrdiff_t>(2 * t + 1) * c + b);
}

// Over a stretch of pixels, for a term with relu; added to both its rows.
template <class From, class D>
HWY_INLINE void relu_sums(D d, const From* g, const MixTerm& term, size_t from, size_t to, int b, int c, float* sums) {
  const auto centre = term.centre ? hn::LoadU(d, term.centre + b) : hn::Zero(d);
  const auto a = hn::LoadU(d, term.scale + b), s = hn::LoadU(d, term.shift + b);
  auto plain = hn::Zero(d), product = hn::Zero(d);
  for (size_t i = from; i < to; ++i) {
    const auto v = load(d, term.value.as<From>() + static_cast<ptrdiff_t>(i) * term.pixel + b);
    const auto active = hn::Gt(hn::MulAdd(a, v, s), hn::Zero(d));
    const auto passed = hn::IfThenElseZero(active, load(d, g + i * c + b));
    plain = hn::Add(plain, passed);
    product = hn::MulAdd(passed, hn::Sub(v, centre), product);
  }
  add_to(d, plain, sums + b);
  add_to(d, product, sums + c + b);
}

// Some terms at a time: memory gives most when several values are read at once, but not too many.
template <class From>
void mix_sums_of(const From* g, std::span<const MixTerm> all, size_t pixels, int c, float* sums) {
  const MixTerm* terms = all.data();
  const int count = static_cast<int>(all.size());
  if (const int together = pixels_per_vector(terms, count, c, pixels); together > 1) {
    constexpr int kMost = 8;
    std::fill_n(sums, static_cast<size_t>(2 * count + 1) * c, 0.0f);
    for (int t = 0; t < count; t += kMost) {
      const int here = std::min(kMost, count - t);
      const WideTerms<kMost> some(terms + t, here, c);
      float wide[(2 * kMost + 1) * kWide];
      mix_sums_of(g, {some.terms, static_cast<size_t>(here)}, pixels / together, kWide, wide);
      if (t == 0) fold(wide, c, sums);
      for (int row = 1; row <= 2 * here; ++row)
        fold(wide + static_cast<ptrdiff_t>(row) * kWide, c, sums + static_cast<ptrdiff_t>(2 * t + row) * c);
    }
    return;
  }
  std::fill_n(sums, static_cast<size_t>(2 * count + 1) * c, 0.0f);
  // Long sums are made of short ones.
  const size_t stretch = std::max<size_t>(kStretch / c, 8);
  const auto in_stretches = [&](const auto& add) {
    for (size_t from = 0; from < pixels; from += stretch) {
      for_blocks(c, [&](auto d, int b) { add(d, b, from, std::min(from + stretch, pixels)); });
    }
  };
  in_stretches([&](auto d, int b, size_t from, size_t to) {
    auto sum = hn::Zero(d);
    for (size_t i = from; i < to; ++i) sum = hn::Add(sum, load(d, g + i * c + b));
    add_to(d, sum, sums + b);
  });
  constexpr int kAtOnce = 4;
  for (int t = 0; t < count;) {
    const MixTerm* here = terms + t;
    float* to_sums = sums + static_cast<ptrdiff_t>(2 * t + 1) * c;
    const auto plain = [](const MixTerm& term) { return !term.relu; };
    if (t + kAtOnce <= count && std::all_of(here, here + kAtOnce, plain)) {
      in_stretches(
          [&](auto d, int b, size_t from, size_t to) { product_sums<kAtOnce>(d, g, here, from, to, b, c, to_sums); });
      t += kAtOnce;
    } else {
      in_stretches([&](auto d, int b, size_t from, size_t to) {
        if (here->relu) {
          relu_sums(d, g, *here, from, to, b, c, to_sums);
        } else {
          product_sums<1>(d, g, here, from, to, b, c, to_sums);
        }
      });
      ++t;
    }
  }
}

template <class Half>
void mix_sums(ConstNumbers g, std::span<const MixTerm> terms, size_t pixels, int c, float* sums) {
  with_kind<Half>(g.precision(), [&]<class From>(From) { mix_sums_of(g.as<From>(), terms, pixels, c, sums); });
}

// With several inflows, what is stored in a float takes them one after the other, what is rounded all at once.
template <class From, class To, class D>
HWY_INLINE void combine_block(D d, const Combination& it, int b) {
  const Inflow* inflows = it.inflows.data();
  const int count = static_cast<int>(it.inflows.size()), c = it.c;
  const From* value = it.value.as<From>();
  const float *centre = it.centre, *value_scale = it.value_scale, *constant = it.constant;
  const size_t pixels = it.pixels;
  To* out = it.out.as<To>();
  const auto vs = value_scale ? hn::LoadU(d, value_scale + b) : hn::Zero(d);
  const auto k = value_scale ? hn::LoadU(d, constant + b) : hn::Zero(d);
  const auto m = value_scale ? hn::LoadU(d, centre + b) : hn::Zero(d);
  const auto own = [&](size_t at) { return value_scale ? hn::MulAdd(vs, hn::Sub(load(d, value + at), m), k) : k; };
  if (count == 0) {
    for (size_t i = 0; i < pixels; ++i) store(own(i * c + b), d, out + i * c + b);
  }
  // What flows in through the f-th, besides `sum`.
  const auto inflow = [&](int f) {
    const Inflow& in = inflows[f];
    const auto scale = hn::Mul(in.scale ? hn::LoadU(d, in.scale + b) : hn::Set(d, 1.0f), hn::Set(d, in.weight));
    const auto ra = in.relu_scale ? hn::LoadU(d, in.relu_scale + b) : hn::Zero(d);
    const auto rs = in.relu_scale ? hn::LoadU(d, in.relu_shift + b) : hn::Set(d, 1.0f);
    const From* gradient = in.gradient.as<From>();
    return [=, relu = in.relu_scale != nullptr](size_t at, hn::Vec<D> sum) {
      auto g = load(d, gradient + at);
      if (relu) g = hn::IfThenElseZero(hn::Gt(hn::MulAdd(ra, load(d, value + at), rs), hn::Zero(d)), g);
      return hn::MulAdd(scale, g, sum);
    };
  };
  if (!std::is_same_v<To, float> && count > 1) {
    for (size_t i = 0; i < pixels; ++i) {
      auto sum = own(i * c + b);
      for (int f = 0; f < count; ++f) sum = inflow(f)(i * c + b, sum);
      store(sum, d, out + i * c + b);
    }
    return;
  }
  for (int f = 0; f < count; ++f) {
    const auto add = inflow(f);
    for (size_t i = 0; i < pixels; ++i) {
      const size_t at = i * c + b;
      store(add(at, f == 0 ? own(at) : load(d, out + at)), d, out + at);
    }
  }
}

template <class From, class To>
HWY_INLINE void combine_all(const Combination& combination) {
  Combination it = combination;
  constexpr size_t kMost = 8;
  const int c = it.c;
  if (const int together = pixels_per_vector(c, it.pixels); together > 1 && it.inflows.size() <= kMost) {
    Inflow wide[kMost];
    Repeated scales[kMost], relu_scales[kMost], relu_shifts[kMost], centres, value_scales, constants;
    for (size_t f = 0; f < it.inflows.size(); ++f) {
      wide[f] = it.inflows[f];
      wide[f].scale = scales[f](it.inflows[f].scale, c);
      wide[f].relu_scale = relu_scales[f](it.inflows[f].relu_scale, c);
      wide[f].relu_shift = relu_shifts[f](it.inflows[f].relu_shift, c);
    }
    it.inflows = {wide, it.inflows.size()};
    it.centre = it.value_scale ? centres(it.centre, c) : nullptr;
    it.constant = it.value_scale ? constants(it.constant, c) : nullptr;
    it.value_scale = value_scales(it.value_scale, c);
    it.pixels /= together;
    it.c = kWide;
    combine_block<From, To>(Wide(), it, 0);
    return;
  }
  for_blocks(c, [&](auto d, int b) { combine_block<From, To>(d, it, b); });
}

template <class Half>
void combine(const Combination& it) {
  with_kind<Half>(it.value.precision(), [&]<class From>(From) {
    with_kind<Half>(it.out.precision(), [&]<class To>(To) { combine_all<From, To>(it); });
  });
}

// Calls write(pixel, gradient, value) for the pixels of a row: the gradient that relu(scale * value + shift) lets pass.
// Where nothing depends on the values, they may be gone: `reads` says whether they are to be read.
template <class From, class D, class Write>
HWY_INLINE void pass_row(D d, const float* from, const MixTerm& read, const From* value, bool reads, int w, int c,
                         int b, Write write) {
  const auto a = read.scale ? hn::LoadU(d, read.scale + b) : hn::Set(d, 1.0f);
  const auto s = read.scale ? hn::LoadU(d, read.shift + b) : hn::Zero(d);
  value += b;
  for (int x = 0; x < w; ++x, from += c, value += read.pixel) {
    const auto v = reads ? load(d, value) : hn::Zero(d);
    const auto g = hn::LoadU(d, from + b);
    write(x, read.relu ? hn::IfThenElseZero(hn::Gt(hn::MulAdd(a, v, s), hn::Zero(d)), g) : g, v);
  }
}

template <class From>
HWY_INLINE void pass_back_from(const ReadGradient& it, bool add, Pixels<float> image) {
  const int w = it.w, c = it.c;
  const float* from = it.gradient.pixels;
  const MixTerm read = it.read;
  const From* value = read.value.as<From>();
  float* to = image.first;
  for (int y = 0; y < it.h; ++y, from += it.gradient.row, value += w * read.pixel, to += w * image.pixel) {
    for_blocks(c, [&](auto d, int b) {
      pass_row(d, from, read, value, read.relu, w, c, b, [&](int x, auto g, auto) {
        float* at = to + x * image.pixel + b;
        hn::StoreU(add ? hn::Add(hn::LoadU(d, at), g) : g, d, at);
      });
    });
  }
}

template <class Half>
void pass_back(const ReadGradient& it, bool add, Pixels<float> to) {
  with_kind<Half>(it.read.value.precision(), [&]<class From>(From) { pass_back_from<From>(it, add, to); });
}

template <class Number>
void pass_back_and_sum_of(const ReadGradient& it, bool past_caches, Number* to, float* sums) {
  const int w = it.w, c = it.c;
  const float* from = it.gradient.pixels;
  const MixTerm read = it.read;
  const Number* value = read.value.as<Number>();
  std::fill_n(sums, 2 * c, 0.0f);
  if (const int together = read.pixel == c ? pixels_per_vector(c, w) : 1; together > 1) {
    const WideTerms<1> wide(&read, 1, c);
    float wide_sums[2 * kWide];
    pass_back_and_sum_of({it.gradient, wide.terms[0], it.h, w / together, kWide}, past_caches, to, wide_sums);
    fold(wide_sums, c, sums);
    fold(wide_sums + kWide, c, sums + c);
    return;
  }
  constexpr bool kCanStream = std::is_same_v<Number, float>;
  const bool streams =
      kCanStream && past_caches && c % kWide == 0 && reinterpret_cast<uintptr_t>(to) % (kWide * sizeof(float)) == 0;
  const ptrdiff_t row = it.gradient.row, line = static_cast<ptrdiff_t>(w) * c;
  for (int y = 0; y < it.h; ++y, from += row, value += w * read.pixel, to += line) {
    for_blocks(c, [&](auto d, int b) {
      const auto centre = hn::LoadU(d, read.centre + b);
      auto plain = hn::Zero(d), product = hn::Zero(d);
      pass_row(d, from, read, value, true, w, c, b, [&](int x, auto g, auto v) {
        Number* at = to + static_cast<ptrdiff_t>(x) * c + b;
        plain = hn::Add(plain, g);
        product = hn::MulAdd(g, hn::Sub(v, centre), product);
        if constexpr (kCanStream) {
          if (streams) return hn::Stream(g, d, at);
        }
        store(g, d, at);
      });
      add_to(d, plain, sums + b);
      add_to(d, product, sums + c + b);
    });
  }
}

template <class Half>
void pass_back_and_sum(const ReadGradient& it, bool past_caches, Numbers to, float* sums) {
  with_kind<Half>(to.precision(),
                  [&]<class Number>(Number) { pass_back_and_sum_of(it, past_caches, to.as<Number>(), sums); });
}

}  // namespace nascent::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // include guard per target
