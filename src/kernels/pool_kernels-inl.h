// Pools of image_kernels.h.
#if defined(NASCENT_POOL_KERNELS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef NASCENT_POOL_KERNELS_INL
#undef NASCENT_POOL_KERNELS_INL
#else
#define NASCENT_POOL_KERNELS_INL
#endif

#include <algorithm>
#include <limits>

#include "kernels/image_kernels.h"
#include "kernels/vectors-inl.h"

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

HWY_INLINE bool is_full_3x3(Span rows, Span columns) {
  return rows.end - rows.begin == 3 && columns.end - columns.begin == 3;
}

template <class D, class Step>
HWY_INLINE hn::Vec<D> fold_window(D d, const float* x, ptrdiff_t pixel, ptrdiff_t row, Span rows, Span columns,
                                  hn::Vec<D> start, Step step) {
  auto result = start;
  if (is_full_3x3(rows, columns)) {
    const float* p = x + rows.begin * row + columns.begin * pixel;
    NASCENT_UNROLL
    for (int i = 0; i < 3; ++i) {
      NASCENT_UNROLL
      for (int k = 0; k < 3; ++k) result = step(result, hn::LoadU(d, p + i * row + k * pixel));
    }
    return result;
  }
  for (int i = rows.begin; i < rows.end; ++i) {
    for (int k = columns.begin; k < columns.end; ++k) result = step(result, hn::LoadU(d, x + i * row + k * pixel));
  }
  return result;
}

void max_pool(const float* x, ptrdiff_t pixel, int h, int w, int c, const Window& window, float* out) {
  for_windows(h, w, window, [&](Span rows, Span columns, ptrdiff_t to) {
    for_blocks(c, [&](auto d, int b) {
      const auto lowest = hn::Set(d, -std::numeric_limits<float>::infinity());
      const auto most =
          fold_window(d, x + b, pixel, w * pixel, rows, columns, lowest, [](auto a, auto v) { return hn::Max(a, v); });
      hn::StoreU(most, d, out + to * c + b);
    });
  });
}

void avg_pool(const float* x, ptrdiff_t pixel, int h, int w, int c, const Window& window, float* out) {
  for_windows(h, w, window, [&](Span rows, Span columns, ptrdiff_t to) {
    const float share = 1.0f / static_cast<float>((rows.end - rows.begin) * (columns.end - columns.begin));
    for_blocks(c, [&](auto d, int b) {
      const auto sum = fold_window(d, x + b, pixel, w * pixel, rows, columns, hn::Zero(d),
                                   [](auto a, auto v) { return hn::Add(a, v); });
      hn::StoreU(hn::Mul(sum, hn::Set(d, share)), d, out + to * c + b);
    });
  });
}

// The first pixel of a window that holds its maximum takes the gradient, as in LibTorch.
void max_pool_backward(const float* x, ptrdiff_t pixel, int h, int w, int c, const Window& window, const float* out,
                       const float* out_gradient, float* in_gradient, ptrdiff_t gradient_pixel) {
  for_windows(h, w, window, [&](Span rows, Span columns, ptrdiff_t to) {
    for_blocks(c, [&](auto d, int b) {
      const auto most = hn::LoadU(d, out + to * c + b);
      auto left = hn::LoadU(d, out_gradient + to * c + b);
      for (int i = rows.begin; i < rows.end; ++i) {
        for (int k = columns.begin; k < columns.end; ++k) {
          const ptrdiff_t at = static_cast<ptrdiff_t>(i) * w + k;
          const auto here = hn::Eq(hn::LoadU(d, x + at * pixel + b), most);
          float* to_gradient = in_gradient + at * gradient_pixel + b;
          hn::StoreU(hn::Add(hn::LoadU(d, to_gradient), hn::IfThenElseZero(here, left)), d, to_gradient);
          left = hn::IfThenZeroElse(here, left);
        }
      }
    });
  });
}

void avg_pool_backward(int h, int w, int c, const Window& window, const float* out_gradient, float* in_gradient,
                       ptrdiff_t gradient_pixel) {
  for_windows(h, w, window, [&](Span rows, Span columns, ptrdiff_t to) {
    const float share = 1.0f / static_cast<float>((rows.end - rows.begin) * (columns.end - columns.begin));
    for_blocks(c, [&](auto d, int b) {
      const auto g = hn::Mul(hn::LoadU(d, out_gradient + to * c + b), hn::Set(d, share));
      for (int i = rows.begin; i < rows.end; ++i) {
        for (int k = columns.begin; k < columns.end; ++k) {
          float* to_gradient = in_gradient + (static_cast<ptrdiff_t>(i) * w + k) * gradient_pixel + b;
          hn::StoreU(hn::Add(hn::LoadU(d, to_gradient), g), d, to_gradient);
        }
      }
    });
  });
}

}  // namespace nascent::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // include guard per target
