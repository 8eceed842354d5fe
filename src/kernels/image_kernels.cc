#include "nascent/kernels/image_kernels.h"

// This file is compiled once per instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "nascent/kernels/image_kernels.cc"
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4)
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "nascent/kernels/dense_kernels-inl.h"
#include "nascent/kernels/depthwise_kernels-inl.h"
#include "nascent/kernels/mixture_kernels-inl.h"
#include "nascent/kernels/pixel_kernels-inl.h"
#include "nascent/kernels/pool_kernels-inl.h"
#include "nascent/kernels/winograd_kernels-inl.h"

HWY_BEFORE_NAMESPACE();
namespace nascent::kernels::HWY_NAMESPACE {

const ImageKernels* table() {
  static const ImageKernels kernels = {.pad = pad,
                                       .depthwise = depthwise,
                                       .dense = dense,
                                       .depthwise_weights = depthwise_weights,
                                       .dense_weights = dense_weights,
                                       .depthwise_scatter = depthwise_scatter,
                                       .add_strided = add_strided,
                                       .inputs_to_points = inputs_to_points,
                                       .points_to_outputs = points_to_outputs,
                                       .gradients_to_points = gradients_to_points,
                                       .max_pool = max_pool,
                                       .avg_pool = avg_pool,
                                       .max_pool_backward = max_pool_backward,
                                       .avg_pool_backward = avg_pool_backward,
                                       .stream = stream,
                                       .end_streams = [] { hwy::FlushStream(); },
                                       .moments = moments,
                                       .mix = mix,
                                       .mix_sums = mix_sums,
                                       .combine = combine,
                                       .add_scaled = add_scaled,
                                       .add_and_compare = add_and_compare,
                                       .copy_pixels = copy_pixels,
                                       .join_groups = join_groups,
                                       .split_groups = split_groups,
                                       .pass_back = pass_back,
                                       .pass_back_and_sum = pass_back_and_sum};
  return &kernels;
}

}  // namespace nascent::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "nascent/kernels/isa.h"

namespace nascent::kernels {

HWY_EXPORT(table);

const ImageKernels& image_kernels() {
  isa();  // settles which one, at the first call
  return *HWY_DYNAMIC_DISPATCH(table)();
}

}  // namespace nascent::kernels
#endif
