// Pools of image_kernels.h.
#if defined(NASCENT_POOL_KERNELS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef NASCENT_POOL_KERNELS_INL
#undef NASCENT_POOL_KERNELS_INL
#else
#define NASCENT_POOL_KERNELS_INL
#endif

#include <algorithm>
#include <limits>

#include "nascent/kernels/image_kernels.h"
#include "nascent/kernels/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace nascent::kernels::HWY_NAMESPACE {

// ---- pools: padding counts neither as a maximum nor towards a mean

struct Span {
  int begin, end;
};

HWY_INLINE Span span_of(int at, int stride, int padding, int window, int size) {
  const int begin = at * stride - padding;
  return {std::max(begin, 0), std::min(begin + window, size)};
}

HWY_INLINE int pooled(int size, int stride, int padding, int window) {
  return (size + 2 * padding - window) / stride + 1;
}

// Calls body(rows, columns, output pixel) for every window.
template <class Body>
HWY_INLINE void for_windows(int h, int w, const Window& window, Body body) {
  const int out_h = pooled(h, window.stride_h, window.padding_h, window.height);
  const int out_w = pooled(w, window.stride_w, window.padding_w, window.width);
  ptrdiff_t to = 0;
  for (int y = 0; y < out_h; ++y) {
    const Span rows = span_of(y, window.stride_h, window.padding_h, window.height, h);
    for (int x = 0; x < out_w; ++x, ++to)
      body(rows, span_of(x, window.stride_w, window.padding_w, window.width, w), to);
  }
}

template <class From, class D, class Step>
HWY_INLINE hn::Vec<D> fold_window(D d, const From* x, ptrdiff_t pixel, ptrdiff_t row, Span rows, Span columns,
                                  hn::Vec<D> start, Step step) {
  auto result = start;
  for (int i = rows.begin; i < rows.end; ++i) {
    for (int k = columns.begin; k < columns.end; ++k) result = step(result, load(d, x + i * row + k * pixel));
  }
  return result;
}

// Nearly all windows: 3x3, from pixel to pixel.
HWY_INLINE bool slides_by_one(const Window& window, int w) {
  return window.height == 3 && window.width == 3 && window.stride_h == 1 && window.stride_w == 1 &&
         window.padding_h == 1 && window.padding_w == 1 && w > 1;
}

// A row of such windows: each column of pixels is folded once, and serves the three windows that see it. Calls
// write(window, result).
template <class Column, class Step, class Write>
HWY_INLINE void slide(int w, Column column, Step step, Write write) {
  auto before = column(0), here = column(1);
  write(0, step(before, here));
  for (int x = 1; x + 1 < w; ++x) {
    const auto next = column(x + 1);
    write(x, step(step(before, here), next));
    before = here;
    here = next;
  }
  write(w - 1, step(before, here));
}

template <class From, class D, class Step>
HWY_INLINE hn::Vec<D> fold_column(D d, const From* x, ptrdiff_t row, int rows, Step step) {
  auto result = load(d, x);
  if (rows > 1) result = step(result, load(d, x + row));
  if (rows > 2) result = step(result, load(d, x + 2 * row));
  return result;
}

// Calls write(d, channel, window, pixels in it, folded) for every window.
template <class From, class Start, class Step, class Write>
HWY_INLINE void fold_windows(const PoolInput& input, Start start, Step step, Write write) {
  const From* x = input.x.first.as<From>();
  const ptrdiff_t pixel = input.x.pixel;
  const int h = input.h, w = input.w, c = input.c;
  const Window window = input.window;
  const ptrdiff_t row = w * pixel;
  if (slides_by_one(window, w)) {
    for (int y = 0; y < h; ++y) {
      const Span rows = span_of(y, 1, 1, 3, h);
      const int count = rows.end - rows.begin;
      for_blocks(c, [&](auto d, int b) {
        const From* first = x + rows.begin * row + b;
        const ptrdiff_t to = static_cast<ptrdiff_t>(y) * w;
        slide(
            w, [&](int k) { return fold_column(d, first + k * pixel, row, count, step); }, step,
            [&](int k, auto folded) { write(d, b, to + k, count * (k == 0 || k == w - 1 ? 2 : 3), folded); });
      });
    }
    return;
  }
  for_windows(h, w, window, [&](Span rows, Span columns, ptrdiff_t to) {
    const int count = (rows.end - rows.begin) * (columns.end - columns.begin);
    for_blocks(c, [&](auto d, int b) {
      write(d, b, to, count, fold_window(d, x + b, pixel, row, rows, columns, start(d), step));
    });
  });
}

template <class Half>
void max_pool(const PoolInput& input, Numbers pooled) {
  const int c = input.c;
  with_kind<Half>(pooled.precision(), [&]<class Number>(Number) {
    Number* out = pooled.as<Number>();
    fold_windows<Number>(
        input, [](auto d) { return hn::Set(d, -std::numeric_limits<float>::infinity()); },
        [](auto a, auto v) { return at_least(a, v); },
        [&](auto d, int b, ptrdiff_t to, int, auto most) { store(most, d, out + to * c + b); });
  });
}

template <class Half>
void avg_pool(const PoolInput& input, Numbers pooled) {
  const int c = input.c;
  with_kind<Half>(pooled.precision(), [&]<class Number>(Number) {
    Number* out = pooled.as<Number>();
    fold_windows<Number>(
        input, [](auto d) { return hn::Zero(d); }, [](auto a, auto v) { return hn::Add(a, v); },
        [&](auto d, int b, ptrdiff_t to, int count, auto sum) {
          store(hn::Mul(sum, hn::Set(d, 1.0f / static_cast<float>(count))), d, out + to * c + b);
        });
  });
}

// A row of windows that slide by one. What flows back to the three columns in sight is kept until a column is out of
// sight.
template <class From, class D>
HWY_INLINE void slide_back(D d, Pixels<const From> image, int rows, int w, int c, const From* out,
                           const float* out_gradient, Pixels<float> to_image) {
  const From* x = image.first;
  float* in_gradient = to_image.first;
  const ptrdiff_t pixel = image.pixel, row = w * pixel, gradient_pixel = to_image.pixel;
  const auto zero = hn::Zero(d), nothing = hn::NaN(d);  // equal to no maximum
  hn::Vec<D> value[3][3], gradient[3][3];               // [column][row]
  const auto see = [&](int column, int at) HWY_ATTR {
    NASCENT_UNROLL
    for (int i = 0; i < 3; ++i) {
      value[column][i] = i < rows && at < w ? load(d, x + i * row + at * pixel) : nothing;
      gradient[column][i] = zero;
    }
  };
  const auto leave = [&](int column, int at) HWY_ATTR {
    float* to = in_gradient + at * gradient_pixel;
    NASCENT_UNROLL
    for (int i = 0; i < 3; ++i) {
      if (i < rows) add_to(d, gradient[column][i], to + i * w * gradient_pixel);
    }
  };
  see(1, w);
  see(2, 0);
  for (int at = 0; at < w; ++at) {
    NASCENT_UNROLL
    for (int i = 0; i < 3; ++i) {
      NASCENT_UNROLL
      for (int k = 0; k < 2; ++k) value[k][i] = value[k + 1][i], gradient[k][i] = gradient[k + 1][i];
    }
    see(2, at + 1);
    const auto most = load(d, out + static_cast<ptrdiff_t>(at) * c);
    auto left = hn::LoadU(d, out_gradient + static_cast<ptrdiff_t>(at) * c);
    NASCENT_UNROLL
    for (int i = 0; i < 3; ++i) {
      NASCENT_UNROLL
      for (int k = 0; k < 3; ++k) {
        const auto here = hn::Eq(value[k][i], most);
        gradient[k][i] = hn::Add(gradient[k][i], hn::IfThenElseZero(here, left));
        left = hn::IfThenZeroElse(here, left);
      }
    }
    if (at > 0) leave(0, at - 1);
  }
  leave(1, w - 1);
}

// The first pixel of a window that holds its maximum takes the gradient, as in LibTorch.
template <class From>
HWY_INLINE void max_pool_backward_of(const PoolInput& input, const From* out, const float* out_gradient,
                                     Pixels<float> to_image) {
  const From* x = input.x.first.as<From>();
  float* in_gradient = to_image.first;
  const ptrdiff_t pixel = input.x.pixel, gradient_pixel = to_image.pixel;
  const int h = input.h, w = input.w, c = input.c;
  const Window window = input.window;
  if (slides_by_one(window, w)) {
    for (int y = 0; y < h; ++y) {
      const Span rows = span_of(y, 1, 1, 3, h);
      const ptrdiff_t from = static_cast<ptrdiff_t>(rows.begin) * w, to = static_cast<ptrdiff_t>(y) * w * c;
      for_blocks(c, [&](auto d, int b) {
        slide_back<From>(d, {x + from * pixel + b, pixel}, rows.end - rows.begin, w, c, out + to + b,
                         out_gradient + to + b, {in_gradient + from * gradient_pixel + b, gradient_pixel});
      });
    }
    return;
  }
  for_windows(h, w, window, [&](Span rows, Span columns, ptrdiff_t to) {
    for_blocks(c, [&](auto d, int b) {
      const auto most = load(d, out + to * c + b);
      auto left = hn::LoadU(d, out_gradient + to * c + b);
      for (int i = rows.begin; i < rows.end; ++i) {
        for (int k = columns.begin; k < columns.end; ++k) {
          const ptrdiff_t at = static_cast<ptrdiff_t>(i) * w + k;
          const auto here = hn::Eq(load(d, x + at * pixel + b), most);
          add_to(d, hn::IfThenElseZero(here, left), in_gradient + at * gradient_pixel + b);
          left = hn::IfThenZeroElse(here, left);
        }
      }
    });
  });
}

template <class Half>
void max_pool_backward(const PoolInput& input, ConstNumbers out, const float* out_gradient, Pixels<float> to_image) {
  with_kind<Half>(out.precision(),
                  [&]<class From>(From) { max_pool_backward_of(input, out.as<From>(), out_gradient, to_image); });
}

// A row of the input that windows slide over by one: it takes a share of the windows in up to three rows.
HWY_INLINE void slide_back_mean(const PoolInput& input, const float* out_gradient, int y, Pixels<float> in_gradient) {
  const int h = input.h, w = input.w, c = input.c;
  const Span rows = span_of(y, 1, 1, 3, h);
  const auto share = [](int at, int size) {
    const Span seen = span_of(at, 1, 1, 3, size);
    return 1.0f / static_cast<float>(seen.end - seen.begin);
  };
  float shares[3] = {};
  for (int i = rows.begin; i < rows.end; ++i) shares[i - rows.begin] = share(i, h);
  for_blocks(c, [&](auto d, int b) {
    const float* first = out_gradient + static_cast<ptrdiff_t>(rows.begin) * w * c + b;
    const auto column = [&](int k) HWY_ATTR {
      auto sum = hn::Zero(d);
      for (int i = 0; i < rows.end - rows.begin; ++i)
        sum = hn::MulAdd(hn::Set(d, shares[i]), hn::LoadU(d, first + (static_cast<ptrdiff_t>(i) * w + k) * c), sum);
      return hn::Mul(sum, hn::Set(d, k == 0 || k == w - 1 ? 1.0f / 2 : 1.0f / 3));
    };
    slide(
        w, column, [](auto a, auto v) { return hn::Add(a, v); },
        [&](int k, auto sum) {
          add_to(d, sum, in_gradient.first + (static_cast<ptrdiff_t>(y) * w + k) * in_gradient.pixel + b);
        });
  });
}

void avg_pool_backward(const PoolInput& input, const float* out_gradient, Pixels<float> in_gradient) {
  const int h = input.h, w = input.w, c = input.c;
  const Window window = input.window;
  if (slides_by_one(window, w)) {
    for (int y = 0; y < h; ++y) slide_back_mean(input, out_gradient, y, in_gradient);
    return;
  }
  for_windows(h, w, window, [&](Span rows, Span columns, ptrdiff_t to) {
    const float share = 1.0f / static_cast<float>((rows.end - rows.begin) * (columns.end - columns.begin));
    for_blocks(c, [&](auto d, int b) {
      const auto g = hn::Mul(hn::LoadU(d, out_gradient + to * c + b), hn::Set(d, share));
      for (int i = rows.begin; i < rows.end; ++i) {
        for (int k = columns.begin; k < columns.end; ++k)
          add_to(d, g, in_gradient.first + (static_cast<ptrdiff_t>(i) * w + k) * in_gradient.pixel + b);
      }
    });
  });
}

}  // namespace nascent::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // include guard per target
