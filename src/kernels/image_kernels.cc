#include "kernels/image_kernels.h"

#include <algorithm>

// This file is compiled once per instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/image_kernels.cc"
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4)
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/image_kernels-inl.h"

HWY_BEFORE_NAMESPACE();
namespace nascent::kernels::HWY_NAMESPACE {

template <size_t kLanes>
const ImageKernels* table() {
  using D = hn::CappedTag<float, kLanes>;
  static const ImageKernels kernels = {.lanes = static_cast<int>(hn::Lanes(D())),
                                       .pad = pad<D>,
                                       .depthwise = depthwise<D>,
                                       .dense = dense<D>,
                                       .depthwise_weights = depthwise_weights<D>,
                                       .dense_weights = dense_weights<D>,
                                       .depthwise_scatter = depthwise_scatter<D>,
                                       .add_strided = add_strided<D>,
                                       .max_pool = max_pool<D>,
                                       .avg_pool = avg_pool<D>,
                                       .max_pool_backward = max_pool_backward<D>,
                                       .avg_pool_backward = avg_pool_backward<D>,
                                       .stream = stream<D>,
                                       .end_streams = [] { hwy::FlushStream(); },
                                       .moments = moments<D>,
                                       .mix = mix<D>,
                                       .mix_sums = mix_sums<D>,
                                       .combine = combine<D>,
                                       .add_scaled = add_scaled<D>,
                                       .add_where_active = add_where_active<D>};
  return &kernels;
}

const ImageKernels* table_of(int lanes) {
  if (lanes >= 16) return table<16>();
  return lanes >= 8 ? table<8>() : table<4>();
}

}  // namespace nascent::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "kernels/isa.h"

namespace nascent::kernels {

HWY_EXPORT(table_of);

const ImageKernels& image_kernels(int lanes) {
  isa();  // settles which one, at the first call
  return *HWY_DYNAMIC_DISPATCH(table_of)(lanes);
}

int best_lanes(const int* channels, int count) {
  constexpr double kMostPadding = 1.25;
  for (int lanes = widest_lanes(); lanes > 4; lanes /= 2) {
    double used = 0, stored = 0;
    for (int i = 0; i < count; ++i) {
      used += channels[i];
      stored += padded(channels[i], lanes);
    }
    if (stored <= kMostPadding * used) return lanes;
  }
  return std::min(4, widest_lanes());
}

}  // namespace nascent::kernels
#endif
