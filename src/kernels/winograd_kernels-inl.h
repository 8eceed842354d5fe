// Between pixels and Winograd's points (0, 1, -1, 2, -2 and infinity), for winograd.h.
#if defined(NASCENT_WINOGRAD_KERNELS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef NASCENT_WINOGRAD_KERNELS_INL
#undef NASCENT_WINOGRAD_KERNELS_INL
#else
#define NASCENT_WINOGRAD_KERNELS_INL
#endif

#include "nascent/kernels/image_kernels.h"
#include "nascent/kernels/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace nascent::kernels::HWY_NAMESPACE {

// Calls body(d, pixel, point) for all tiles: where its pixels and its first point are.
template <class Float, class Points, class Body>
HWY_INLINE void for_tiles(Rows<Float> image, WinogradTiles tiles, Points* points, Body body) {
  Float* pixels = image.pixels;
  for (int y = 0; y < tiles.rows; ++y, pixels += image.row) {
    for (int j = 0; j < tiles.tiles; ++j, points += tiles.c)
      for_blocks(tiles.c,
                 [&](auto d, int b) { body(d, pixels + static_cast<ptrdiff_t>(4 * j) * tiles.c + b, points + b); });
  }
}

void inputs_to_points(Rows<const float> in, WinogradTiles tiles, float* points) {
  const ptrdiff_t plane = tiles.plane(), c = tiles.c;
  for_tiles(in, tiles, points, [&](auto d, const float* x, float* to) {
    const auto four = hn::Set(d, 4.0f), five = hn::Set(d, 5.0f);
    const auto x0 = hn::LoadU(d, x), x1 = hn::LoadU(d, x + c), x2 = hn::LoadU(d, x + 2 * c);
    const auto x3 = hn::LoadU(d, x + 3 * c), x4 = hn::LoadU(d, x + 4 * c), x5 = hn::LoadU(d, x + 5 * c);
    const auto even = hn::NegMulAdd(four, x2, x4), odd = hn::NegMulAdd(four, x1, x3);
    const auto apart = hn::Sub(x4, x2), twice = hn::Add(hn::Sub(x3, x1), hn::Sub(x3, x1));
    hn::StoreU(hn::MulAdd(four, x0, hn::NegMulAdd(five, x2, x4)), d, to);
    hn::StoreU(hn::Add(even, odd), d, to + plane);
    hn::StoreU(hn::Sub(even, odd), d, to + 2 * plane);
    hn::StoreU(hn::Add(apart, twice), d, to + 3 * plane);
    hn::StoreU(hn::Sub(apart, twice), d, to + 4 * plane);
    hn::StoreU(hn::MulAdd(four, x1, hn::NegMulAdd(five, x3, x5)), d, to + 5 * plane);
  });
}

void points_to_outputs(const float* points, WinogradTiles tiles, bool add, Rows<float> out) {
  const ptrdiff_t plane = tiles.plane(), c = tiles.c;
  for_tiles(out, tiles, points, [&](auto d, float* y, const float* from) {
    const auto p1 = hn::LoadU(d, from + plane), p2 = hn::LoadU(d, from + 2 * plane);
    const auto p3 = hn::LoadU(d, from + 3 * plane), p4 = hn::LoadU(d, from + 4 * plane);
    const auto near = hn::Add(p1, p2), far = hn::Add(p3, p4), near_apart = hn::Sub(p1, p2), far_apart = hn::Sub(p3, p4);
    const auto write = [&](int i, auto value) {
      hn::StoreU(add ? hn::Add(hn::LoadU(d, y + i * c), value) : value, d, y + i * c);
    };
    write(0, hn::Add(hn::Add(hn::LoadU(d, from), near), far));
    write(1, hn::MulAdd(hn::Set(d, 2.0f), far_apart, near_apart));
    write(2, hn::MulAdd(hn::Set(d, 4.0f), far, near));
    write(3, hn::Add(hn::MulAdd(hn::Set(d, 8.0f), far_apart, near_apart), hn::LoadU(d, from + 5 * plane)));
  });
}

void gradients_to_points(Rows<const float> gradient, WinogradTiles tiles, float* points) {
  const ptrdiff_t plane = tiles.plane(), c = tiles.c;
  for_tiles(gradient, tiles, points, [&](auto d, const float* g, float* to) {
    const auto g0 = hn::LoadU(d, g), g1 = hn::LoadU(d, g + c), g2 = hn::LoadU(d, g + 2 * c);
    const auto g3 = hn::LoadU(d, g + 3 * c);
    const auto even = hn::Add(g0, g2), odd = hn::Add(g1, g3);
    const auto even_far = hn::MulAdd(hn::Set(d, 4.0f), g2, g0);
    const auto odd_far = hn::MulAdd(hn::Set(d, 8.0f), g3, hn::Add(g1, g1));
    hn::StoreU(g0, d, to);
    hn::StoreU(hn::Add(even, odd), d, to + plane);
    hn::StoreU(hn::Sub(even, odd), d, to + 2 * plane);
    hn::StoreU(hn::Add(even_far, odd_far), d, to + 3 * plane);
    hn::StoreU(hn::Sub(even_far, odd_far), d, to + 4 * plane);
    hn::StoreU(g3, d, to + 5 * plane);
  });
}

}  // namespace nascent::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // include guard per target
