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
#include "nascent/kernels/depthwise_pair_kernels-inl.h"
#include "nascent/kernels/mixture_kernels-inl.h"
#include "nascent/kernels/pair_kernels-inl.h"
#include "nascent/kernels/pixel_kernels-inl.h"
#include "nascent/kernels/pool_kernels-inl.h"
#include "nascent/kernels/winograd_kernels-inl.h"

HWY_BEFORE_NAMESPACE();
namespace nascent::kernels::HWY_NAMESPACE {

// `Half` is how bf16 is taken.
template <class Half>
const ImageKernels* table_of() {
  static const ImageKernels kernels = {.pad = pad<Half>,
                                       .depthwise = depthwise<Half>,
                                       .dense = dense<Half>,
                                       .depthwise_weights = depthwise_weights<Half>,
                                       .dense_weights = dense_weights<Half>,
                                       .depthwise_scatter = depthwise_scatter<Half>,
                                       .add_strided = add_strided,
                                       .inputs_to_points = inputs_to_points,
                                       .points_to_outputs = points_to_outputs,
                                       .gradients_to_points = gradients_to_points,
                                       .max_pool = max_pool<Half>,
                                       .avg_pool = avg_pool<Half>,
                                       .max_pool_backward = max_pool_backward<Half>,
                                       .avg_pool_backward = avg_pool_backward,
                                       .stream = stream,
                                       .end_streams = [] { hwy::FlushStream(); },
                                       .moments = moments<Half>,
                                       .mix = mix<Half>,
                                       .mix_sums = mix_sums<Half>,
                                       .combine = combine<Half>,
                                       .add_scaled = add_scaled<Half>,
                                       .add_and_compare = add_and_compare,
                                       .copy_pixels = copy_pixels<Half>,
                                       .join_groups = join_groups,
                                       .split_groups = split_groups<Half>,
                                       .pass_back = pass_back<Half>,
                                       .pass_back_and_sum = pass_back_and_sum<Half>};
  return &kernels;
}

const ImageKernels* table() { return table_of<Bf16>(); }

// For CPUs with instructions for bf16.
const ImageKernels* native_table() {
#if HWY_TARGET == HWY_AVX3
  return table_of<NativeBf16>();
#else
  return nullptr;  // all of them have AVX-512
#endif
}

}  // namespace nascent::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "nascent/kernels/amx_kernels.h"
#include "nascent/kernels/isa.h"

namespace nascent::kernels {

HWY_EXPORT(table);
HWY_EXPORT(native_table);

namespace {

// Products of floats, and of so few channels that several pixels fit into a vector, are left to vectors.
bool worth_tiles(Precision precision, int ci, int co) { return precision == Precision::bf16 && (ci > 4 || co > 4); }

const ImageKernels* without_tiles = nullptr;

// `floats` multiplies pairs as floats: of the CPUs that have tiles, the instruction for pairs takes longer.
const ImageKernels& tile_table(const ImageKernels& other, const ImageKernels& floats) {
  static const ImageKernels kernels = [&] {
    without_tiles = &other;
    ImageKernels table = other;
    table.depthwise = floats.depthwise;
    table.depthwise_weights = floats.depthwise_weights;
    table.dense = [](const Dense& it) {
      worth_tiles(it.in.precision(), it.ci, it.co) ? dense_by_tiles(it) : without_tiles->dense(it);
    };
    table.dense_weights = [](const DenseWeights& it) {
      worth_tiles(it.pairs.in.pixels.precision(), it.ci, it.co) ? dense_weights_by_tiles(it)
                                                                : without_tiles->dense_weights(it);
    };
    return table;
  }();
  return kernels;
}

}  // namespace

const ImageKernels& image_kernels() {
  const std::string& name = isa();  // settles which one, at the first call
  if (name == "amx") return tile_table(*HWY_DYNAMIC_DISPATCH(native_table)(), *HWY_DYNAMIC_DISPATCH(table)());
  return name == "avx512bf16" ? *HWY_DYNAMIC_DISPATCH(native_table)() : *HWY_DYNAMIC_DISPATCH(table)();
}

}  // namespace nascent::kernels
#endif
