// Depthwise convolutions of image_kernels.h on bf16. Where the CPU has an instruction for it, two products are added to
// a sum at once, as in pair_kernels-inl.h: those of two rows of the input, which a column of the kernel sees one below
// the other. Elsewhere some rows at a time become floats.
#if defined(NASCENT_DEPTHWISE_PAIR_KERNELS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef NASCENT_DEPTHWISE_PAIR_KERNELS_INL
#undef NASCENT_DEPTHWISE_PAIR_KERNELS_INL
#else
#define NASCENT_DEPTHWISE_PAIR_KERNELS_INL
#endif

#include <algorithm>
#include <bit>
#include <numeric>
#include <type_traits>
#include <vector>

#include "nascent/kernels/depthwise_kernels-inl.h"
#include "nascent/kernels/image_kernels.h"
#include "nascent/kernels/pair_kernels-inl.h"
#include "nascent/kernels/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace nascent::kernels::HWY_NAMESPACE {

// Room for some rows: on the stack, unless kernels or images are unusually large.
template <class Number>
struct RowMemory {
  static constexpr size_t kNear = 8192;

  HWY_INLINE Number* of(size_t numbers) {
    if (numbers <= kNear) return near;
    far.resize(numbers);
    return far.data();
  }

  HWY_ALIGN Number near[kNear];
  std::vector<Number> far;
};

// ---- as floats

// The input of some rows of outputs as floats.
class WidenedInput {
 public:
  // `beside`: floats that have to fit beside the input of each row of outputs.
  WidenedInput(Rows<const Bf16> in, const Grid& grid, Taps taps, ptrdiff_t pixels, ptrdiff_t c, ptrdiff_t beside)
      : in_(in),
        grid_(grid),
        first_(std::min(taps.offsets[0], taps.offsets[taps.count - 1])),
        width_(((pixels - 1) * grid.stride_w + (grid.width - 1) * grid.dilation + 1) * c),
        reach_((grid.height - 1) * grid.dilation + 1) {
    const ptrdiff_t room = static_cast<ptrdiff_t>(memory_.kNear) - std::max(0, reach_ - grid.stride_h) * width_;
    at_once_ = static_cast<int>(std::max<ptrdiff_t>(1, room / (grid.stride_h * width_ + beside)));
    for (int y = 0; y < grid.height; ++y) {
      for (int x = 0; x < grid.width; ++x) offsets_.push_back(grid.dilation * (y * width_ + x * c));
    }
    if (first_ != taps.offsets[0]) std::reverse(offsets_.begin(), offsets_.end());
  }

  Taps taps() const { return {offsets_.data(), static_cast<int>(offsets_.size())}; }
  // Rows of outputs for which there is room.
  int at_once() const { return at_once_; }

  Rows<const float> of_rows(int first, int count) {
    const int seen = (count - 1) * grid_.stride_h + reach_;
    const ptrdiff_t row = in_.row / grid_.stride_h;
    float* const widened = memory_.of(seen * width_ + kWide);
    widen(in_.pixels + first_ + first * in_.row, row, seen, width_, widened);
    return {widened, grid_.stride_h * width_};
  }

  static void widen(const Bf16* from, ptrdiff_t row, int rows, ptrdiff_t width, float* to) {
    for (int y = 0; y < rows; ++y, from += row, to += width) {
      for_blocks(static_cast<int>(width), [&](auto d, int b) { hn::StoreU(load(d, from + b), d, to + b); });
    }
  }

 private:
  Rows<const Bf16> in_;
  Grid grid_;
  ptrdiff_t first_, width_;
  int reach_, at_once_;
  std::vector<ptrdiff_t> offsets_;
  RowMemory<float> memory_;
};

template <class Half>
HWY_INLINE void depthwise_widened(const Depthwise& all) {
  WidenedInput input({all.in.pixels.as<Bf16>(), all.in.row}, all.grid, all.taps, all.pixels, all.c, 0);
  std::vector<float> weights(static_cast<size_t>(all.taps.count) * all.c);
  for (int t = 0; t < all.taps.count; ++t) {
    for_blocks(all.c, [&](auto d, int b) {
      hn::StoreU(tap_weights(d, all.weights.as<Bf16>(), all.grid, all.c, t, b), d, weights.data() + t * all.c + b);
    });
  }
  Depthwise some = all;
  some.taps = input.taps();
  some.weights = weights.data();
  for (int y = 0; y < all.rows; y += some.rows) {
    some.rows = std::min(input.at_once(), all.rows - y);
    const Rows<const float> in = input.of_rows(y, some.rows);
    some.in = {in.pixels, in.row};
    some.out.pixels = all.out.pixels + y * all.out.row;
    depthwise_floats<Half>(some);
  }
}

HWY_INLINE void depthwise_weights_widened(const DepthwiseWeights& all) {
  const RowPairs<const Bf16> images = pairs_of<Bf16>(all.pairs);
  const ptrdiff_t line = static_cast<ptrdiff_t>(images.pixels) * all.c;
  WidenedInput input(images.in, all.grid, all.taps, images.pixels, all.c, line);
  RowMemory<float> memory;
  float* const gradient = memory.of(input.at_once() * line);
  DepthwiseWeights some = all;
  some.taps = input.taps();
  for (int y = 0; y < images.rows; y += some.pairs.rows) {
    some.pairs.rows = std::min(input.at_once(), images.rows - y);
    input.widen(images.gradient.pixels + y * images.gradient.row, images.gradient.row, some.pairs.rows, line, gradient);
    const Rows<const float> in = input.of_rows(y, some.pairs.rows);
    some.pairs.in = {in.pixels, in.row};
    some.pairs.gradient = {gradient, line};
    depthwise_weights_of_floats(some);
  }
}

// ---- in pairs

#if HWY_TARGET == HWY_AVX3

// Rows of an image, from some columns and channels on; what is outside of them is zero.
struct PairSource {
  const Bf16* first;
  ptrdiff_t row, pixel;
  int rows, width;
  int apart;     // the rows of a pair: these are of a kind
  int phases;    // columns that are so many apart lie one behind the other
  bool swapped;  // the lower row comes first
};

using PairMemory = RowMemory<uint32_t>;

inline int ring_size(int most) { return static_cast<int>(std::bit_ceil(static_cast<unsigned>(most))); }

// Pairs of rows, one below the other, in a ring of a power of two.
struct PairRing {
  HWY_INLINE const uint32_t* operator[](int m) const { return slots + (m & last) * size; }

  const uint32_t* slots;
  ptrdiff_t size;
  int last;
};

// Pairs of rows, made when they are asked for: the m-th of a kind has its rows 2m and 2m + 1. Of each kind the last
// most() stay. D is as wide as the channels, so that a vector of pairs holds kWide / Lanes(d) pixels.
template <class D>
class PairedRows {
 public:
  // `least` pairs at least, `more`: as many as there is room for.
  PairedRows(const PairSource& source, int least, bool more, PairMemory& memory) : it_(source) {
    phase_ = static_cast<ptrdiff_t>((it_.width - 1) / it_.phases + 1) * kLanes + kWide;
    const auto fit = static_cast<unsigned>((PairMemory::kNear - 2 * kWide) / (it_.apart * (it_.phases * phase_ + 1)));
    most_ = std::max(ring_size(least), more ? static_cast<int>(std::bit_floor(fit)) : 0);
    const size_t slots = static_cast<size_t>(most_) * it_.apart;
    made_ = memory.of(slots * (it_.phases * phase_ + 1) + kWide);
    pairs_ = made_ + (slots + kWide - 1) / kWide * kWide;
    std::fill_n(made_, slots, kNone);
  }

  int most() const { return most_; }
  // From one phase of columns to the next.
  HWY_INLINE ptrdiff_t phase() const { return phase_; }

  // Makes sure of `count` of a kind from the m-th on.
  HWY_INLINE PairRing with(int kind, int m, int count) {
    const ptrdiff_t size = it_.phases * phase_;
    uint32_t *slots = pairs_ + kind * most_ * size, *made = made_ + kind * most_;
    for (int i = m; i < m + count; ++i) {
      const int slot = i & (most_ - 1);
      if (made[slot] == static_cast<uint32_t>(i)) continue;
      make(kind, i, slots + slot * size);
      made[slot] = static_cast<uint32_t>(i);
    }
    return {slots, size, most_ - 1};
  }

 private:
  static constexpr int kLanes = static_cast<int>(hn::MaxLanes(D()));
  static constexpr uint32_t kNone = 1u << 31;

  HWY_NOINLINE void make(int kind, int m, uint32_t* to) const {
    const PairTag<D> whole;
    const hn::Rebind<uint16_t, D> half;
    static constexpr Bf16 kZeros[kWide] = {};
    struct Row {
      const uint16_t* pixels;
      ptrdiff_t pixel;
    };
    const PairSource it = it_;
    const auto row = [&](int of_kind) -> Row {
      const int y = kind + it.apart * of_kind;
      const bool inside = of_kind >= 0 && y < it.rows;
      return {reinterpret_cast<const uint16_t*>(inside ? it.first + y * it.row : kZeros), inside ? it.pixel : 0};
    };
    const Row low = row(2 * m + it.swapped), high = row(2 * m + !it.swapped);
    for (int phase = 0; phase < it.phases; ++phase, to += phase_) {
      const uint16_t *a = low.pixels + phase * low.pixel, *b = high.pixels + phase * high.pixel;
      const ptrdiff_t a_step = it.phases * low.pixel, b_step = it.phases * high.pixel;
      uint32_t* at = to;
      for (int x = phase; x < it.width; x += it.phases, at += kLanes, a += a_step, b += b_step) {
        const auto upper = hn::ShiftLeft<16>(hn::PromoteTo(whole, hn::LoadU(half, b)));
        hn::StoreU(hn::Or(hn::PromoteTo(whole, hn::LoadU(half, a)), upper), whole, at);
      }
      hn::StoreU(hn::Zero(PairTag<Wide>()), PairTag<Wide>(), at);  // what is left of the last vector
    }
  }

  PairSource it_;
  int most_;
  ptrdiff_t phase_;
  uint32_t *made_, *pairs_;
};

// Columns that the pairs of `rows` rows of so many channels leave room for in the near memory, if any.
HWY_INLINE int columns_at_once(int rows, int channels, const Grid& grid) {
  const int room = static_cast<int>(PairMemory::kNear - 2 * kWide) / rows - grid.stride_w * kWide;
  const int seen = room / channels - (grid.width - 1) * grid.dilation - grid.stride_w;
  return std::max(seen / grid.stride_w / kWide * kWide, kWide);
}

// The weights of a column of the kernel, of the channels of D, for every pixel of a vector.
template <class D>
HWY_INLINE hn::Vec<PairTag<Wide>> spread_pairs(D d, const Bf16* from) {
  const auto pairs = reinterpret_cast<const uint32_t*>(from);
  if constexpr (hn::MaxLanes(D()) == 4) {
    return hn::LoadDup128(PairTag<Wide>(), pairs);
  } else if constexpr (hn::MaxLanes(D()) == 8) {
    const auto eight = hn::LoadU(PairTag<D>(), pairs);
    return hn::Combine(PairTag<Wide>(), eight, eight);
  } else {
    return load_pairs(d, from);
  }
}

// Sums of neighbouring outputs, several of them in a vector where the channels of D leave room.
template <bool kAdd, int kVectors, class D, class To>
HWY_INLINE void store_pixels(D d, const hn::Vec<Wide> (&sum)[kVectors], int pixels, ptrdiff_t c, To* to) {
  constexpr int kLanes = static_cast<int>(hn::MaxLanes(D())), kTogether = kWide / kLanes;
  const auto put = [&](auto x, To* at) HWY_ATTR { store(kAdd ? hn::Add(load(d, at), x) : x, d, at); };
  if constexpr (kTogether == 1) {
    NASCENT_UNROLL
    for (int v = 0; v < kVectors; ++v) put(sum[v], to + v * c);
  } else {
    HWY_ALIGN float sums[kVectors * kWide];
    NASCENT_UNROLL
    for (int v = 0; v < kVectors; ++v) hn::Store(sum[v], Wide(), sums + v * kWide);
    for (int i = 0; i < std::min(pixels, kVectors * kTogether); ++i) put(hn::Load(d, sums + i * kLanes), to + i * c);
  }
}

// Where the weights of an output row are: those of its first pair of rows and column, and how far it is to the next.
struct PairedWeights {
  const Bf16* first;
  ptrdiff_t pair, column;
};

// Outputs of kRows rows, which see the same pairs of rows; `at` is their place in these, in numbers.
template <int kVectors, int kRows, class Half, class D, class To>
HWY_INLINE void paired_tile(D d, const Depthwise& it, const PairRing& rows, int m, ptrdiff_t phase, ptrdiff_t at,
                            const PairedWeights* weights, int pixels, To* const* out) {
  constexpr int kLanes = static_cast<int>(hn::MaxLanes(D()));
  const Wide wide;
  const Grid grid = it.grid;
  hn::Vec<Wide> sum[kRows][kVectors];
  NASCENT_UNROLL
  for (int r = 0; r < kRows; ++r) {
    NASCENT_UNROLL
    for (int v = 0; v < kVectors; ++v) sum[r][v] = hn::Zero(wide);
  }
  for (int p = 0; p <= grid.height / 2; ++p) {
    const uint32_t* pairs = rows[m + p] + at;
    const Bf16* w[kRows];
    NASCENT_UNROLL
    for (int r = 0; r < kRows; ++r) w[r] = weights[r].first + p * weights[r].pair;
    for (int k = 0, column = 0, seen = 0; k < grid.width; ++k) {
      Factor<Half, Wide> factor[kRows];
      NASCENT_UNROLL
      for (int r = 0; r < kRows; ++r) {
        factor[r].set(wide, spread_pairs(d, w[r]));
        w[r] += weights[r].column;
      }
      const uint32_t* x = pairs + seen * phase + column * kLanes;
      NASCENT_UNROLL
      for (int v = 0; v < kVectors; ++v) {
        const auto pair = hn::LoadU(PairTag<Wide>(), x + v * kWide);
        NASCENT_UNROLL
        for (int r = 0; r < kRows; ++r) sum[r][v] = factor[r].add_products(wide, pair, sum[r][v]);
      }
      for (seen += grid.dilation; seen >= grid.stride_w; seen -= grid.stride_w) ++column;
    }
  }
  NASCENT_UNROLL
  for (int r = 0; r < kRows; ++r) {
    if (it.add) {
      store_pixels<true>(d, sum[r], pixels, it.c, out[r]);
    } else {
      store_pixels<false>(d, sum[r], pixels, it.c, out[r]);
    }
  }
}

// Of the channels of D from b on, `width` columns from `from` on.
template <class Half, class To, class D>
HWY_INLINE void paired_columns(D d, const Depthwise& it, int b, int from, int width, PairMemory& memory) {
  constexpr int kTogether = kWide / static_cast<int>(hn::MaxLanes(D()));
  constexpr int kVectors = 8;
  const Grid grid = it.grid;
  const ptrdiff_t c = it.c, first = it.taps.offsets[0], last = it.taps.offsets[it.taps.count - 1];
  const bool turned = last < first;
  PairedRows<D> pairs({.first = it.in.pixels.as<Bf16>() + std::min(first, last) + from * it.step + b,
                       .row = it.in.row / grid.stride_h,
                       .pixel = c,
                       .rows = (it.rows - 1) * grid.stride_h + (grid.height - 1) * grid.dilation + 1,
                       .width = (width - 1) * grid.stride_w + (grid.width - 1) * grid.dilation + 1,
                       .apart = grid.dilation,
                       .phases = grid.stride_w,
                       .swapped = turned},
                      grid.height / 2 + 1, /*more=*/false, memory);
  // Outputs whose first row is the second of a pair begin with the first row of the kernel and the zeros above it.
  const auto weights = [&](int begins) -> PairedWeights {
    const int row = kZeroRows + (turned ? grid.height - 2 + begins : -begins), column = turned ? grid.width - 1 : 0;
    const ptrdiff_t line = 2 * c * grid.width;
    const Bf16* at = it.weights.as<Bf16>() + row * line + 2 * (column * c + b);
    return turned ? PairedWeights{at, -2 * line, -2 * c} : PairedWeights{at, 2 * line, 2 * c};
  };
  const auto row = [&](int y) { return it.out.pixels.as<To>() + y * it.out.row + from * c + b; };
  const auto tiles = [&](auto rows, const PairRing& ring, int m, const PairedWeights* of_rows,
                         To* const* out) HWY_ATTR {
    for_tiles<kVectors>((width + kTogether - 1) / kTogether, [&](auto vectors, int i) {
      const int at = i * kTogether;
      To* here[rows()];
      for (int r = 0; r < rows(); ++r) here[r] = out[r] + at * c;
      paired_tile<vectors(), rows(), Half>(d, it, ring, m, pairs.phase(), i * kWide, of_rows, width - at, here);
    });
  };
  // The next output row that begins one row further, among those of its kind; none: with this stride there is none.
  const int next = grid.dilation % grid.stride_h == 0 ? grid.dilation / grid.stride_h : 0;
  for (int y = 0; y < it.rows; ++y) {
    const int begin = y * grid.stride_h, kind = begin % grid.dilation, nth = begin / grid.dilation;
    const PairedWeights of_rows[2] = {weights(nth % 2), weights(1)};
    if (next > 0 && nth % 2 == 1) continue;  // was done with the row above
    To* const out[2] = {row(y), row(y + next)};
    const PairRing ring = pairs.with(kind, nth / 2, grid.height / 2 + 1);
    if (next > 0 && y + next < it.rows) {
      tiles(std::integral_constant<int, 2>(), ring, nth / 2, of_rows, out);
    } else {
      tiles(std::integral_constant<int, 1>(), ring, nth / 2, of_rows, out);
    }
  }
}

template <class Half, class To>
HWY_INLINE void depthwise_pairs(const Depthwise& it) {
  PairMemory memory;
  for_blocks(it.c, [&](auto d, int b) {
    const int channels = static_cast<int>(hn::MaxLanes(d)), rows = ring_size(it.grid.height / 2 + 1) * it.grid.dilation;
    const int most = columns_at_once(rows, channels, it.grid);
    for (int from = 0; from < it.pixels; from += most)
      paired_columns<Half, To>(d, it, b, from, std::min(most, it.pixels - from), memory);
  });
}

// Rows of the kernel that see the rows of a kind: `count` of them, `apart` from one to the next. What the first sees
// begins `skipped` rows (of the kind) further down than the gradients, and with every other one `next` more.
struct KernelRows {
  int kind, first, apart, count, skipped, next;

  KernelRows from(int rows) const {
    return {kind, first + rows * apart, apart, count - rows, skipped + rows * next, next};
  }
};

// What is known of a stretch of columns, of the channels of D from b on.
template <class D>
struct PairedImages {
  const DepthwiseWeights& it;
  PairedRows<D>&in, &gradient;
  int width, b;
};

// The pairs of rows from `begin` to `end` of an input, and those of gradients that belong to them.
struct PairedStretch {
  PairRing in, gradient;
  int begin, end;
};

// For kTaps columns of the kernel from `column` on, of kRows rows. Rows in kOdd see the second row of a pair of
// gradients together with the first of the next pair.
template <int kRows, int kTaps, unsigned kOdd, class Half, class D>
HWY_INLINE void paired_weights_tile(const PairedImages<D>& images, const PairedStretch& rows, const KernelRows& kernel,
                                    int column) {
  constexpr int kLanes = static_cast<int>(hn::MaxLanes(D()));
  const Wide wide;
  const PairTag<Wide> whole;
  const Grid grid = images.it.grid;
  const int numbers = images.width * kLanes;
  hn::Vec<Wide> sum[kRows][kTaps];
  NASCENT_UNROLL
  for (int r = 0; r < kRows; ++r) {
    NASCENT_UNROLL
    for (int k = 0; k < kTaps; ++k) sum[r][k] = hn::Zero(wide);
  }
  ptrdiff_t taps[kTaps];
  NASCENT_UNROLL
  for (int k = 0; k < kTaps; ++k) {
    const int at = (column + k) * grid.dilation;
    taps[k] = at % grid.stride_w * images.in.phase() + at / grid.stride_w * kLanes;
  }
  for (int m = rows.begin; m < rows.end; ++m) {
    const uint32_t *x = rows.in[m], *near[kRows], *below[kRows];
    NASCENT_UNROLL
    for (int r = 0; r < kRows; ++r) {
      const int first = m - (kernel.skipped + r * kernel.next + 1) / 2;
      near[r] = rows.gradient[first];
      below[r] = rows.gradient[first + 1];
    }
    for (int i = 0; i < numbers; i += kWide) {
      Factor<Half, Wide> factor[kRows];
      NASCENT_UNROLL
      for (int r = 0; r < kRows; ++r) {
        auto pairs = hn::LoadU(whole, near[r] + i);
        if (kOdd >> r & 1) pairs = hn::Or(hn::ShiftRight<16>(pairs), hn::ShiftLeft<16>(hn::LoadU(whole, below[r] + i)));
        factor[r].set(wide, pairs);
      }
      NASCENT_UNROLL
      for (int k = 0; k < kTaps; ++k) {
        const auto pairs = hn::LoadU(whole, x + taps[k] + i);
        NASCENT_UNROLL
        for (int r = 0; r < kRows; ++r) sum[r][k] = factor[r].add_products(wide, pairs, sum[r][k]);
      }
    }
  }
  const int c = images.it.c;
  NASCENT_UNROLL
  for (int r = 0; r < kRows; ++r) {
    float* to = images.it.gradients + ((kernel.first + r * kernel.apart) * grid.width + column) * c + images.b;
    NASCENT_UNROLL
    for (int k = 0; k < kTaps; ++k) {
      if constexpr (kLanes == kWide) {
        add_to(wide, sum[r][k], to + k * c);
      } else {
        HWY_ALIGN float sums[kWide];
        hn::Store(sum[r][k], wide, sums);
        fold(sums, kLanes, to + k * c);
      }
    }
  }
}

// All columns of kRows rows of the kernel, over as many rows at a time as there is room for.
template <int kRows, unsigned kOdd, class Half, class D>
HWY_INLINE void paired_weights_rows(const PairedImages<D>& images, const KernelRows& kernel) {
  const int furthest = kernel.skipped + (kRows - 1) * kernel.next, end = (images.it.pairs.rows + furthest + 1) / 2;
  // Of gradients the rows from as much further up on as the last row of the kernel skips.
  const int above = (furthest + 1) / 2, seen = above - kernel.skipped / 2 + 1;
  const int most = std::min(images.in.most(), images.gradient.most() - seen + 1);
  for (int m = kernel.skipped / 2; m < end; m += most) {
    const int here = std::min(most, end - m);
    const PairedStretch rows = {images.in.with(kernel.kind, m, here),
                                images.gradient.with(0, m - above, here + seen - 1), m, m + here};
    int k = 0;
    const auto columns = [&](auto taps) {
      for (; k + taps() <= images.it.grid.width; k += taps())
        paired_weights_tile<kRows, taps(), kOdd, Half>(images, rows, kernel, k);
    };
    columns(std::integral_constant<int, 5>());
    columns(std::integral_constant<int, 3>());
    columns(std::integral_constant<int, 1>());
  }
}

// All rows that see rows of one kind: as many at a time as there is room for their sums.
template <class Half, class D>
HWY_INLINE void paired_weights_kind(const PairedImages<D>& images, KernelRows kernel) {
  const bool alternates = kernel.next % 2 == 1;
  const auto take = [&](auto rows) {
    constexpr unsigned kEveryOther = 0b01010 & ((1u << rows()) - 1);
    // An odd number of rows would leave the others to begin with an odd one.
    while (kernel.count >= rows() && kernel.skipped % 2 == 0 &&
           (!alternates || rows() % 2 == 0 || rows() == kernel.count)) {
      if (alternates) {
        paired_weights_rows<rows(), kEveryOther, Half>(images, kernel);
      } else {
        paired_weights_rows<rows(), 0, Half>(images, kernel);
      }
      kernel = kernel.from(rows());
    }
  };
  take(std::integral_constant<int, 5>());
  take(std::integral_constant<int, 3>());
  take(std::integral_constant<int, 2>());
  while (kernel.count > 0) {
    if (kernel.skipped % 2 == 0) {
      paired_weights_rows<1, 0, Half>(images, kernel);
    } else {
      paired_weights_rows<1, 1, Half>(images, kernel);
    }
    kernel = kernel.from(1);
  }
}

template <class Half>
HWY_INLINE void depthwise_weights_of_pairs(const DepthwiseWeights& it) {
  const Grid grid = it.grid;
  const RowPairs<const Bf16> images = pairs_of<Bf16>(it.pairs);
  const int reach = (grid.height - 1) * grid.dilation, kept = ring_size(reach / grid.stride_h / 2 + 2);
  PairMemory in_memory, gradient_memory;
  for_blocks(it.c, [&](auto d, int b) {
    using D = decltype(d);
    const int channels = static_cast<int>(hn::MaxLanes(d));
    const int most = columns_at_once(std::max(kept, grid.stride_h), channels, grid);
    for (int from = 0; from < images.pixels; from += most) {
      const int width = std::min(most, images.pixels - from);
      PairedRows<D> in({.first = images.in.pixels + it.taps.offsets[0] + from * it.step + b,
                        .row = images.in.row / grid.stride_h,
                        .pixel = it.c,
                        .rows = (images.rows - 1) * grid.stride_h + reach + 1,
                        .width = (width - 1) * grid.stride_w + (grid.width - 1) * grid.dilation + 1,
                        .apart = grid.stride_h,
                        .phases = grid.stride_w,
                        .swapped = false},
                       1, /*more=*/true, in_memory);
      PairedRows<D> gradient({.first = images.gradient.pixels + static_cast<ptrdiff_t>(from) * it.c + b,
                              .row = images.gradient.row,
                              .pixel = it.c,
                              .rows = images.rows,
                              .width = width,
                              .apart = 1,
                              .phases = 1,
                              .swapped = false},
                             kept, /*more=*/true, gradient_memory);
      const PairedImages<D> here{it, in, gradient, width, b};
      // Rows of the kernel that are `apart` from each other see rows of the same kind.
      const int apart = grid.stride_h / std::gcd(grid.stride_h, grid.dilation);
      for (int first = 0; first < std::min(apart, grid.height); ++first) {
        const int begin = first * grid.dilation;
        paired_weights_kind<Half>(here, {.kind = begin % grid.stride_h,
                                         .first = first,
                                         .apart = apart,
                                         .count = (grid.height - first + apart - 1) / apart,
                                         .skipped = begin / grid.stride_h,
                                         .next = apart * grid.dilation / grid.stride_h});
      }
    }
  });
}

#endif

template <class Half>
void depthwise(const Depthwise& it) {
  if (it.in.pixels.precision() == Precision::single) return depthwise_floats<Half>(it);
#if HWY_TARGET == HWY_AVX3
  if constexpr (std::is_same_v<Half, NativeBf16>) {
    return with_kind<Half>(it.out.pixels.precision(), [&]<class To>(To) { depthwise_pairs<Half, To>(it); });
  }
#endif
  depthwise_widened<Half>(it);
}

template <class Half>
void depthwise_weights(const DepthwiseWeights& it) {
  if (it.pairs.in.pixels.precision() == Precision::single) return depthwise_weights_of_floats(it);
#if HWY_TARGET == HWY_AVX3
  if constexpr (std::is_same_v<Half, NativeBf16>) return depthwise_weights_of_pairs<Half>(it);
#endif
  depthwise_weights_widened(it);
}

}  // namespace nascent::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // include guard per target
