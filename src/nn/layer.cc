#include "nascent/nn/layer.h"

#include <ATen/ATen.h>

#include <array>
#include <vector>

namespace nascent {

namespace {

std::vector<int64_t> weight_sizes(const Stage& stage) {
  switch (stage.kind) {
    case StageKind::conv:
      return {stage.out, stage.in / stage.groups, stage.kernel_h, stage.kernel_w};
    case StageKind::factorized_reduce:
      return {stage.out, stage.in, 1, 1};
    case StageKind::linear:
      return {stage.out, stage.in};
    case StageKind::batch_norm:
      return stage.affine ? std::vector<int64_t>{stage.in} : std::vector<int64_t>{};
    default:
      return {};
  }
}

bool has_bias(const Stage& stage) {
  if (stage.kind == StageKind::batch_norm) return stage.affine;
  return stage.bias && (stage.kind == StageKind::conv || stage.kind == StageKind::linear);
}

}  // namespace

Layer::Layer(const Stage& stage) : stage_(stage) {
  if (const auto sizes = weight_sizes(stage); !sizes.empty()) weight_ = register_parameter("weight", at::empty(sizes));
  if (has_bias(stage)) bias_ = register_parameter("bias", at::empty({stage.out}));
  if (stage.kind != StageKind::batch_norm) return;
  running_mean_ = register_buffer("running_mean", at::zeros({stage.in}));
  running_var_ = register_buffer("running_var", at::ones({stage.in}));
}

bool Layer::is_stateless() const { return !weight_.defined() && !running_mean_.defined(); }

at::Tensor Layer::forward(const at::Tensor& x) const {
  const Stage& s = stage_;
  const std::array<int64_t, 2> kernel = {s.kernel_h, s.kernel_w}, stride = {s.stride_h, s.stride_w},
                               padding = {s.padding_h, s.padding_w};
  switch (s.kind) {
    case StageKind::relu:
      return at::relu(x);
    case StageKind::conv:
      return at::conv2d(x, weight_, bias_, stride, padding, s.dilation, s.groups);
    case StageKind::batch_norm:
      return at::batch_norm(x, weight_, bias_, running_mean_, running_var_, is_training(), kNormMomentum, kNormEpsilon,
                            /*cudnn_enabled=*/true);
    case StageKind::max_pool:
      return at::max_pool2d(x, kernel, stride, padding);
    case StageKind::avg_pool:
      return at::avg_pool2d(x, kernel, stride, padding, /*ceil_mode=*/false, /*count_include_pad=*/false);
    case StageKind::factorized_reduce:
      return factorized_reduce(x);
    case StageKind::zero:
      return zeros(x);
    case StageKind::truncate:
      return x.narrow(1, 0, s.out);
    case StageKind::global_avg_pool:
      return at::mean(x, {2, 3}, /*keepdim=*/true);
    case StageKind::linear:
      return at::linear(x.flatten(1), weight_, bias_);
  }
  return x;
}

// An odd side gets one more line of zeros, so that the shifted half has as many pixels as the other.
at::Tensor Layer::factorized_reduce(const at::Tensor& x) const {
  const int64_t half = stage_.out / 2;
  const int64_t odd_h = x.size(2) % 2, odd_w = x.size(3) % 2;
  const at::Tensor even = odd_h + odd_w > 0 ? at::constant_pad_nd(x, {0, odd_w, 0, odd_h}) : x;
  const at::Tensor shifted = even.slice(2, 1).slice(3, 1);
  return at::cat({at::conv2d(x, weight_.narrow(0, 0, half), {}, 2),
                  at::conv2d(shifted, weight_.narrow(0, half, stage_.out - half), {}, 2)},
                 1);
}

at::Tensor Layer::zeros(const at::Tensor& x) const {
  const Shape shape = stage_.output({stage_.in, static_cast<int>(x.size(2)), static_cast<int>(x.size(3))});
  return at::zeros({x.size(0), shape.channels, shape.height, shape.width},
                   x.options().memory_format(x.suggest_memory_format()));
}

}  // namespace nascent
