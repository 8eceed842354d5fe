// The LibTorch and fused forms of the kinds of stage that operations and skeletons are made of.
#include <ATen/ATen.h>

#include <array>

#include "nascent/nn/convolution.h"
#include "nascent/nn/fused_form.h"
#include "nascent/nn/layer.h"
#include "nascent/nn/layer_rule.h"

namespace nascent {

namespace {

using Role = FusedForm::Role;
using Pair = std::array<int64_t, 2>;

Pair kernel(const Stage& s) { return {s.kernel_h, s.kernel_w}; }
Pair stride(const Stage& s) { return {s.stride_h, s.stride_w}; }
Pair padding(const Stage& s) { return {s.padding_h, s.padding_w}; }

bool is_biased(const Stage& stage) { return stage.bias; }

// --- forward passes ---

at::Tensor conv(const Layer& layer, const at::Tensor& x) {
  return convolution(layer.stage(), x, layer.weight(), layer.bias());
}

at::Tensor batch_norm(const Layer& layer, const at::Tensor& x) {
  return at::batch_norm(x, layer.weight(), layer.bias(), layer.running_mean(), layer.running_var(), layer.is_training(),
                        kNormMomentum, kNormEpsilon, /*cudnn_enabled=*/true);
}

at::Tensor max_pool(const Layer& layer, const at::Tensor& x) {
  return at::max_pool2d(x, kernel(layer.stage()), stride(layer.stage()), padding(layer.stage()));
}

at::Tensor avg_pool(const Layer& layer, const at::Tensor& x) {
  return at::avg_pool2d(x, kernel(layer.stage()), stride(layer.stage()), padding(layer.stage()), /*ceil_mode=*/false,
                        /*count_include_pad=*/false);
}

// An odd side gets one more line of zeros, so that the shifted half has as many pixels as the other.
at::Tensor factorized_reduce(const Layer& layer, const at::Tensor& x) {
  const int64_t out = layer.stage().out, half = out / 2;
  const int64_t odd_h = x.size(2) % 2, odd_w = x.size(3) % 2;
  const at::Tensor even = odd_h + odd_w > 0 ? at::constant_pad_nd(x, {0, odd_w, 0, odd_h}) : x;
  const at::Tensor shifted = even.slice(2, 1).slice(3, 1);
  return at::cat({convolution(layer.stage(), x, layer.weight().narrow(0, 0, half), {}),
                  convolution(layer.stage(), shifted, layer.weight().narrow(0, half, out - half), {})},
                 1);
}

at::Tensor zeros(const Layer& layer, const at::Tensor& x) {
  const Shape shape =
      layer.stage().output({layer.stage().in, static_cast<int>(x.size(2)), static_cast<int>(x.size(3))});
  return at::zeros({x.size(0), shape.channels, shape.height, shape.width},
                   x.options().memory_format(x.suggest_memory_format()));
}

// --- fused forms ---

// The backward pass turns a convolution around, which needs as many pixels on both sides; with a stride it scatters.
bool keeps_size(const Stage& stage) {
  return 2 * stage.padding_h == stage.dilation * (stage.kernel_h - 1) &&
         2 * stage.padding_w == stage.dilation * (stage.kernel_w - 1);
}

bool is_fused_convolution(const Stage& stage) {
  const bool strided = stage.stride_h > 1 || stage.stride_w > 1;
  return !stage.bias && (stage.groups == 1 || is_depthwise(stage)) && (strided || keeps_size(stage));
}

kernels::Unit conv_unit(const Stage& stage) {
  kernels::Unit unit{.stride_h = stage.stride_h, .stride_w = stage.stride_w};
  auto& taps = is_depthwise(stage) ? unit.depthwise : unit.dense;
  for (int y = 0; y < stage.kernel_h; ++y) {
    for (int x = 0; x < stage.kernel_w; ++x)
      taps.push_back({y * stage.dilation - stage.padding_h, x * stage.dilation - stage.padding_w});
  }
  return unit;
}

kernels::Unit reduce_unit(const Stage&) {
  return {.dense = {{0, 0}, {1, 1}}, .stride_h = 2, .stride_w = 2, .halves = true};
}

kernels::Unit pool_unit(const Stage& stage, kernels::Unit::Kind kind) {
  return {.kind = kind,
          .window = {stage.kernel_h, stage.kernel_w, stage.stride_h, stage.stride_w, stage.padding_h, stage.padding_w}};
}

}  // namespace

NASCENT_REGISTER(
    LayerRule, "relu", "max(x, 0)", [](const Layer&, const at::Tensor& x) { return at::relu(x); },
    LayerFacts{.fused = {.role = Role::rectifier}});
NASCENT_REGISTER(LayerRule, "conv", "LibTorch's conv2d, with fast derivatives of every order", conv,
                 LayerFacts{.weight =
                                [](const Stage& s) {
                                  return std::vector<int64_t>{s.out, s.in / s.groups, s.kernel_h, s.kernel_w};
                                },
                            .bias = is_biased,
                            .fused = {.role = Role::convolution, .fits = is_fused_convolution, .unit = conv_unit}});
NASCENT_REGISTER(
    LayerRule, "batch_norm", "by the batch in training, by running statistics otherwise", batch_norm,
    LayerFacts{.weight = [](const Stage& s) { return s.affine ? std::vector<int64_t>{s.in} : std::vector<int64_t>{}; },
               .bias = [](const Stage& s) { return s.affine; },
               .norm = true,
               .fused = {.role = Role::norm}});
NASCENT_REGISTER(LayerRule, "max_pool", "LibTorch's max_pool2d", max_pool,
                 LayerFacts{.fused = {.role = Role::pool, .unit = [](const Stage& s) {
                                        return pool_unit(s, kernels::Unit::Kind::max_pool);
                                      }}});
NASCENT_REGISTER(LayerRule, "avg_pool", "LibTorch's avg_pool2d, padding not counted", avg_pool,
                 LayerFacts{.fused = {.role = Role::pool, .unit = [](const Stage& s) {
                                        return pool_unit(s, kernels::Unit::Kind::avg_pool);
                                      }}});
NASCENT_REGISTER(LayerRule, "factorized_reduce", "two convolutions of stride 2, one pixel apart", factorized_reduce,
                 LayerFacts{.weight =
                                [](const Stage& s) {
                                  return std::vector<int64_t>{s.out, s.in, 1, 1};
                                },
                            .fused = {.role = Role::convolution, .unit = reduce_unit}});
NASCENT_REGISTER(LayerRule, "zero", "zeros", zeros);
NASCENT_REGISTER(
    LayerRule, "truncate", "the first channels",
    [](const Layer& layer, const at::Tensor& x) { return x.narrow(1, 0, layer.stage().out); },
    LayerFacts{.fused = {.role = Role::selection}});
NASCENT_REGISTER(LayerRule, "global_avg_pool", "mean over all pixels", [](const Layer&, const at::Tensor& x) {
  return at::mean(x, {2, 3}, /*keepdim=*/true);
});
NASCENT_REGISTER(
    LayerRule, "linear", "LibTorch's linear, of all pixels",
    [](const Layer& layer, const at::Tensor& x) { return at::linear(x.flatten(1), layer.weight(), layer.bias()); },
    LayerFacts{.weight =
                   [](const Stage& s) {
                     return std::vector<int64_t>{s.out, s.in};
                   },
               .bias = is_biased});

}  // namespace nascent
