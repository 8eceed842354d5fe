// What image_kernels.h does pixel by pixel: padding, sums, mixtures and their gradients.
#if defined(NASCENT_MIXTURE_KERNELS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef NASCENT_MIXTURE_KERNELS_INL
#undef NASCENT_MIXTURE_KERNELS_INL
#else
#define NASCENT_MIXTURE_KERNELS_INL
#endif

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "nascent/kernels/image_kernels.h"
#include "nascent/kernels/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace nascent::kernels::HWY_NAMESPACE {

// ---- padding

template <class D>
HWY_INLINE hn::Vec<D> load_first(D d, const float* p, int count) {
  if (count <= 0) return hn::Zero(d);  // a vector of padding
  return hn::MaskedLoad(hn::FirstN(d, static_cast<size_t>(count)), d, p);
}

HWY_INLINE void pad_row(const float* x, ptrdiff_t pixel, int channels, int w, const float* scale, const float* shift,
                        bool use_relu, float* out, int c) {
  if (!scale && pixel == c && channels == c) {  // all floats alike: no vector ends with a pixel
    const Wide d;
    const auto low = use_relu ? hn::Zero(d) : hn::Set(d, -std::numeric_limits<float>::infinity());
    const int floats = w * c, whole = floats / kWide * kWide;
    for (int i = 0; i < whole; i += kWide) hn::StoreU(hn::Max(hn::LoadU(d, x + i), low), d, out + i);
    for (int i = whole; i < floats; ++i) out[i] = use_relu ? std::max(x[i], 0.0f) : x[i];
    return;
  }
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
         bool use_relu, float* out, int c, ptrdiff_t row) {
  Repeated scales, shifts;
  const ptrdiff_t line = w * pixel;
  if (const int together = pixel == c && channels == c ? pixels_per_vector(c, w) : 1; together > 1) {
    scale = scales(scale, c);
    shift = shifts(shift, c);
    pixel = channels = c = kWide;
    w /= together;
  }
  for (int y = 0; y < h; ++y) pad_row(x + y * line, pixel, channels, w, scale, shift, use_relu, out + y * row, c);
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
HWY_INLINE void mix_tile(D d, const MixTerm* terms, int count, const float* bias, size_t pixel, int b, float* out,
                         ptrdiff_t out_pixel) {
  hn::Vec<D> sum[kPixels];
  out += static_cast<ptrdiff_t>(pixel) * out_pixel + b;
  NASCENT_UNROLL
  for (int p = 0; p < kPixels; ++p) sum[p] = bias ? hn::LoadU(d, bias + b) : hn::LoadU(d, out + p * out_pixel);
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
  for (int p = 0; p < kPixels; ++p) hn::StoreU(sum[p], d, out + p * out_pixel);
}

HWY_INLINE void mix_some(const MixTerm* terms, int count, const float* bias, size_t pixels, int c, float* out,
                         ptrdiff_t out_pixel) {
  const auto tile = [&](auto at_once, size_t i) {
    for_blocks(c, [&](auto d, int b) { mix_tile<at_once()>(d, terms, count, bias, i, b, out, out_pixel); });
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
void mix(const MixTerm* terms, int count, const float* bias, size_t pixels, int c, float* out, ptrdiff_t out_pixel) {
  constexpr int kAtOnce = 8;
  for (int t = 0; t == 0 || t < count; t += kAtOnce) {
    const int here = std::min(kAtOnce, count - t);
    const int together = out_pixel == c ? pixels_per_vector(terms + t, here, c, pixels) : 1;
    const float* start = t == 0 ? bias : nullptr;
    if (together > 1) {
      const WideTerms<kAtOnce> wide(terms + t, here, c);
      Repeated biases;
      mix_some(wide.terms, here, biases(start, c), pixels / together, kWide, out, kWide);
    } else {
      mix_some(terms + t, here, start, pixels, c, out, out_pixel);
    }
  }
}

// Over a stretch of pixels, for kTerms terms without relu; added to the second row of each.
template <int kTerms, class D>
HWY_INLINE void product_sums(D d, const float* g, const MixTerm* terms, size_t from, size_t to, int b, int c,
                             float* sums) {
  hn::Vec<D> even[kTerms], odd[kTerms], centre[kTerms];
  const float* x[kTerms];
  ptrdiff_t pixel[kTerms];
  NASCENT_UNROLL
  for (int t = 0; t < kTerms; ++t) {
    even[t] = odd[t] = hn::Zero(d);
    centre[t] = terms[t].centre ? hn::LoadU(d, terms[t].centre + b) : hn::Zero(d);
    pixel[t] = terms[t].pixel;
    x[t] = terms[t].value + static_cast<ptrdiff_t>(from) * pixel[t] + b;
  }
  size_t i = from;
  for (; i + 2 <= to; i += 2) {
    const auto first = hn::LoadU(d, g + i * c + b), second = hn::LoadU(d, g + (i + 1) * c + b);
    NASCENT_UNROLL
    for (int t = 0; t < kTerms; ++t) {
      even[t] = hn::MulAdd(first, hn::Sub(hn::LoadU(d, x[t]), centre[t]), even[t]);
      odd[t] = hn::MulAdd(second, hn::Sub(hn::LoadU(d, x[t] + pixel[t]), centre[t]), odd[t]);
      x[t] += 2 * pixel[t];
    }
  }
  if (i < to) {
    const auto last = hn::LoadU(d, g + i * c + b);
    NASCENT_UNROLL
    for (int t = 0; t < kTerms; ++t) even[t] = hn::MulAdd(last, hn::Sub(hn::LoadU(d, x[t]), centre[t]), even[t]);
  }
  NASCENT_UNROLL
  for (int t = 0; t < kTerms; ++t)
    add_to(d, hn::Add(even[t], odd[t]), sums + static_cast<ptrdiff_t>(2 * t + 1) * c + b);
}

// Over a stretch of pixels, for a term with relu; added to both its rows.
template <class D>
HWY_INLINE void relu_sums(D d, const float* g, const MixTerm& term, size_t from, size_t to, int b, int c, float* sums) {
  const auto centre = term.centre ? hn::LoadU(d, term.centre + b) : hn::Zero(d);
  const auto a = hn::LoadU(d, term.scale + b), s = hn::LoadU(d, term.shift + b);
  auto plain = hn::Zero(d), product = hn::Zero(d);
  for (size_t i = from; i < to; ++i) {
    const auto v = hn::LoadU(d, term.value + static_cast<ptrdiff_t>(i) * term.pixel + b);
    const auto active = hn::Gt(hn::MulAdd(a, v, s), hn::Zero(d));
    const auto passed = hn::IfThenElseZero(active, hn::LoadU(d, g + i * c + b));
    plain = hn::Add(plain, passed);
    product = hn::MulAdd(passed, hn::Sub(v, centre), product);
  }
  add_to(d, plain, sums + b);
  add_to(d, product, sums + c + b);
}

// Some terms at a time: memory gives most when several values are read at once, but not too many.
void mix_sums(const float* g, const MixTerm* terms, int count, size_t pixels, int c, float* sums) {
  if (const int together = pixels_per_vector(terms, count, c, pixels); together > 1) {
    constexpr int kMost = 8;
    std::fill_n(sums, static_cast<size_t>(2 * count + 1) * c, 0.0f);
    for (int t = 0; t < count; t += kMost) {
      const int here = std::min(kMost, count - t);
      const WideTerms<kMost> some(terms + t, here, c);
      float wide[(2 * kMost + 1) * kWide];
      mix_sums(g, some.terms, here, pixels / together, kWide, wide);
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
    for (size_t i = from; i < to; ++i) sum = hn::Add(sum, hn::LoadU(d, g + i * c + b));
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

void copy_pixels(const float* from, size_t pixels, int c, float* to, ptrdiff_t to_pixel) {
  for (size_t i = 0; i < pixels; ++i, from += c, to += to_pixel)
    for_blocks(c, [&](auto d, int b) { hn::StoreU(hn::LoadU(d, from + b), d, to + b); });
}

// Four groups of whole vectors, as partial channels mostly are.
HWY_INLINE bool is_four_by_four(int channels, int groups) { return groups == 4 && channels % 16 == 0; }

void join_groups(const float* first, ptrdiff_t first_pixel, const float* rest, ptrdiff_t rest_pixel, size_t pixels,
                 int channels, int groups, float* whole, ptrdiff_t pixel) {
  const int each = channels / groups;
  for (size_t i = 0; i < pixels; ++i, first += first_pixel, rest += rest_pixel, whole += pixel) {
    if (is_four_by_four(channels, groups)) {
      for_blocks(each, [&](auto d, int b) {
        hn::StoreInterleaved4(hn::LoadU(d, first + b), hn::LoadU(d, rest + b), hn::LoadU(d, rest + each + b),
                              hn::LoadU(d, rest + 2 * each + b), d, whole + 4 * b);
      });
      continue;
    }
    for (int j = 0; j < each; ++j) {
      whole[j * groups] = first[j];
      for (int g = 1; g < groups; ++g) whole[j * groups + g] = rest[(g - 1) * each + j];
    }
    std::fill(whole + channels, whole + padded(channels), 0.0f);
  }
}

void split_groups(const float* whole, ptrdiff_t pixel, size_t pixels, int channels, int groups, float* first,
                  ptrdiff_t first_pixel, float* rest, ptrdiff_t rest_pixel) {
  const int each = channels / groups, others = channels - each;
  for (size_t i = 0; i < pixels; ++i, whole += pixel, first += first_pixel, rest += rest_pixel) {
    if (is_four_by_four(channels, groups)) {
      for_blocks(each, [&](auto d, int b) {
        hn::Vec<decltype(d)> group[4];
        hn::LoadInterleaved4(d, whole + 4 * b, group[0], group[1], group[2], group[3]);
        hn::StoreU(group[0], d, first + b);
        for (int g = 1; g < 4; ++g) hn::StoreU(group[g], d, rest + (g - 1) * each + b);
      });
      continue;
    }
    for (int j = 0; j < each; ++j) {
      first[j] = whole[j * groups];
      for (int g = 1; g < groups; ++g) rest[(g - 1) * each + j] = whole[j * groups + g];
    }
    std::fill(first + each, first + padded(each), 0.0f);
    std::fill(rest + others, rest + padded(others), 0.0f);
  }
}

// Calls write(pixel, gradient, value) for the pixels of a row: the gradient that relu(scale * value + shift) lets pass.
template <class D, class Write>
HWY_INLINE void pass_row(D d, const float* from, const MixTerm& read, int w, int c, int b, Write write) {
  const auto a = read.scale ? hn::LoadU(d, read.scale + b) : hn::Set(d, 1.0f);
  const auto s = read.scale ? hn::LoadU(d, read.shift + b) : hn::Zero(d);
  const float* value = read.value + b;
  for (int x = 0; x < w; ++x, from += c, value += read.pixel) {
    const auto v = hn::LoadU(d, value);
    const auto g = hn::LoadU(d, from + b);
    write(x, read.relu ? hn::IfThenElseZero(hn::Gt(hn::MulAdd(a, v, s), hn::Zero(d)), g) : g, v);
  }
}

void pass_back(const float* from, ptrdiff_t row, MixTerm read, int h, int w, int c, bool add, float* to,
               ptrdiff_t to_pixel) {
  for (int y = 0; y < h; ++y, from += row, read.value += w * read.pixel, to += w * to_pixel) {
    for_blocks(c, [&](auto d, int b) {
      pass_row(d, from, read, w, c, b, [&](int x, auto g, auto) {
        float* at = to + x * to_pixel + b;
        hn::StoreU(add ? hn::Add(hn::LoadU(d, at), g) : g, d, at);
      });
    });
  }
}

void pass_back_and_sum(const float* from, ptrdiff_t row, MixTerm read, int h, int w, int c, bool past_caches, float* to,
                       float* sums) {
  std::fill_n(sums, 2 * c, 0.0f);
  if (const int together = read.pixel == c ? pixels_per_vector(c, w) : 1; together > 1) {
    const WideTerms<1> wide(&read, 1, c);
    float wide_sums[2 * kWide];
    pass_back_and_sum(from, row, wide.terms[0], h, w / together, kWide, past_caches, to, wide_sums);
    fold(wide_sums, c, sums);
    fold(wide_sums + kWide, c, sums + c);
    return;
  }
  const bool streams = past_caches && c % kWide == 0 && reinterpret_cast<uintptr_t>(to) % (kWide * sizeof(float)) == 0;
  for (int y = 0; y < h; ++y, from += row, read.value += w * read.pixel, to += static_cast<ptrdiff_t>(w) * c) {
    for_blocks(c, [&](auto d, int b) {
      const auto centre = hn::LoadU(d, read.centre + b);
      auto plain = hn::Zero(d), product = hn::Zero(d);
      pass_row(d, from, read, w, c, b, [&](int x, auto g, auto v) {
        float* at = to + static_cast<ptrdiff_t>(x) * c + b;
        plain = hn::Add(plain, g);
        product = hn::MulAdd(g, hn::Sub(v, centre), product);
        if (streams) {
          hn::Stream(g, d, at);
        } else {
          hn::StoreU(g, d, at);
        }
      });
      add_to(d, plain, sums + b);
      add_to(d, product, sums + c + b);
    });
  }
}

}  // namespace nascent::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // include guard per target
