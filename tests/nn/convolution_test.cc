#include "nascent/nn/convolution.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

namespace nascent {
namespace {

using torch::autograd::grad;
using torch::autograd::variable_list;

struct Convolved {
  at::Tensor x, weight, bias{};
  at::Tensor ours{}, theirs{};
};

Convolved convolve(const Stage& stage, int side, bool channels_last) {
  at::manual_seed(1);
  at::Tensor x = at::randn({2, stage.in, side, side + 1}, at::kDouble);
  if (channels_last) x = x.contiguous(at::MemoryFormat::ChannelsLast);
  Convolved c{.x = x.requires_grad_(),
              .weight = at::randn({stage.out, stage.in / stage.groups, stage.kernel_h, stage.kernel_w}, at::kDouble)};
  if (stage.bias) c.bias = at::randn({stage.out}, at::kDouble).requires_grad_();
  c.weight.requires_grad_();
  c.ours = convolution(stage, c.x, c.weight, c.bias);
  c.theirs = at::conv2d(c.x, c.weight, c.bias, {stage.stride_h, stage.stride_w}, {stage.padding_h, stage.padding_w},
                        stage.dilation, stage.groups);
  return c;
}

variable_list arguments(const Convolved& c) {
  return c.bias.defined() ? variable_list{c.x, c.weight, c.bias} : variable_list{c.x, c.weight};
}

at::Tensor sum_of_cubes(const variable_list& values) {
  at::Tensor sum = at::zeros({}, at::kDouble);
  for (const at::Tensor& value : values) sum = sum + value.pow(3).sum();
  return sum;
}

// First, second and third derivatives of a function of the result.
std::vector<variable_list> derivatives(const at::Tensor& result, const variable_list& of) {
  std::vector<variable_list> found;
  at::Tensor scalar = sum_of_cubes({result});
  for (int order = 1; order <= 3; ++order) {
    found.push_back(grad({scalar}, of, {}, /*retain_graph=*/true, /*create_graph=*/order < 3));
    scalar = sum_of_cubes(found.back());
  }
  return found;
}

TEST(Convolution, HasLibTorchsDerivatives) {
  const Stage base{
      .kind = StageKind::conv, .in = 4, .out = 4, .kernel_h = 3, .kernel_w = 3, .padding_h = 1, .padding_w = 1};
  Stage pointwise = base, depthwise = base, dilated = base, strided = base, grouped = base, flat = base;
  pointwise.kernel_h = pointwise.kernel_w = 1;
  pointwise.padding_h = pointwise.padding_w = 0;
  pointwise.bias = true;
  depthwise.groups = 4;
  dilated.dilation = dilated.padding_h = dilated.padding_w = 2;
  dilated.groups = 4;
  strided.stride_h = strided.stride_w = 2;
  grouped.groups = 2;
  grouped.out = 6;
  flat.kernel_h = 1;
  flat.padding_h = 0;
  for (const Stage& stage : {base, pointwise, depthwise, dilated, strided, grouped, flat}) {
    for (const bool channels_last : {false, true}) {
      const Convolved c = convolve(stage, 6, channels_last);
      EXPECT_TRUE(c.ours.allclose(c.theirs, 1e-13, 1e-13));
      const auto ours = derivatives(c.ours, arguments(c)), theirs = derivatives(c.theirs, arguments(c));
      for (size_t order = 0; order < ours.size(); ++order) {
        for (size_t i = 0; i < ours[order].size(); ++i) {
          const at::Tensor &a = ours[order][i], &b = theirs[order][i];
          EXPECT_LE((a - b).abs().max().item<double>(), 1e-12 * (1 + b.abs().max().item<double>()))
              << "derivative " << order + 1 << " by argument " << i;
        }
      }
    }
  }
}

TEST(Convolution, ComputesOnlyTheDerivativesThatAreAskedFor) {
  const Stage stage{.kind = StageKind::conv, .in = 4, .out = 4, .kernel_h = 3, .kernel_w = 3, .groups = 4};
  const Convolved c = convolve(stage, 6, false);
  const at::Tensor by_x = grad({c.ours.sum()}, {c.x}, {}, /*retain_graph=*/true)[0];
  EXPECT_TRUE(by_x.equal(grad({c.theirs.sum()}, {c.x})[0]));
  EXPECT_FALSE(c.weight.grad().defined());
}

}  // namespace
}  // namespace nascent
