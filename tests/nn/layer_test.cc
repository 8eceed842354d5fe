#include "nascent/nn/layer.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "nascent/core/error.h"
#include "nascent/nn/initialiser.h"
#include "nascent/nn/stage_sequence.h"
#include "nn/samples.h"

namespace nascent {
namespace {

using testing_nn::normal_tensor;
using testing_nn::sample_images;

std::shared_ptr<StageSequence> sequence(const Stages& stages, uint64_t seed = 3) {
  auto built = std::make_shared<StageSequence>(stages);
  initialise(*built, seed, "torch");
  return built;
}

at::Tensor only_parameter(const StageSequence& module) { return module.parameters().at(0); }

void expect_close(const at::Tensor& a, const at::Tensor& b, double tolerance = 1e-5) {
  ASSERT_EQ(a.sizes(), b.sizes());
  EXPECT_LT((a - b).abs().max().item<double>(), tolerance);
}

void expect_shape(const Stages& stages, const Shape& input, const at::Tensor& y) {
  const Shape shape = output_shape(stages, input);
  EXPECT_EQ(y.size(1), shape.channels);
  EXPECT_EQ(y.size(2), shape.height);
  EXPECT_EQ(y.size(3), shape.width);
}

TEST(Layer, ConvolutionsEqualLibTorchModules) {
  const std::vector<Stage> stages = {stage::conv(6, 8, 3),
                                     stage::conv(6, 8, 1, 2),
                                     stage::conv(6, 9, 3, 2, 0),
                                     stage::depthwise(6, 5, 2),
                                     stage::depthwise(6, 3, 1, 2),
                                     stage::depthwise(6, 5, 2, 2),
                                     stage::conv_hw(6, 4, 1, 7, 1, 2),
                                     stage::conv_hw(6, 4, 7, 1, 2, 1)};
  for (const Shape& shape : {Shape{6, 8, 8}, Shape{6, 9, 13}}) {
    const at::Tensor x = sample_images(shape, 3);
    for (const Stage& s : stages) {
      auto built = sequence({s});
      torch::nn::Conv2d reference(torch::nn::Conv2dOptions(s.in, s.out, {s.kernel_h, s.kernel_w})
                                      .stride({s.stride_h, s.stride_w})
                                      .padding({s.padding_h, s.padding_w})
                                      .dilation(s.dilation)
                                      .groups(s.groups)
                                      .bias(false));
      at::NoGradGuard no_grad;
      reference->weight.copy_(only_parameter(*built));
      expect_close(built->forward(x), reference->forward(x.contiguous()));
      expect_shape({s}, shape, built->forward(x));
    }
  }
}

TEST(Layer, BatchNormEqualsLibTorchInBothModes) {
  for (const bool affine : {true, false}) {
    auto built = sequence({stage::batch_norm(5, affine)});
    torch::nn::BatchNorm2d reference(torch::nn::BatchNorm2dOptions(5).affine(affine));
    for (int step = 0; step < 3; ++step) {
      const at::Tensor x = sample_images({5, 7, 6}, 4, 10 + step) * 3 + 2;
      expect_close(built->forward(x), reference->forward(x.contiguous()));
    }
    const auto buffers = built->named_buffers();
    expect_close(buffers["0.running_mean"], reference->running_mean);
    expect_close(buffers["0.running_var"], reference->running_var);
    built->eval();
    reference->eval();
    const at::Tensor x = sample_images({5, 7, 6}, 4);
    expect_close(built->forward(x), reference->forward(x.contiguous()));
    EXPECT_EQ(built->parameters().size(), affine ? 2u : 0u);
  }
}

TEST(Layer, PoolsEqualLibTorchModules) {
  for (const int stride : {1, 2}) {
    for (const Shape& shape : {Shape{4, 8, 8}, Shape{4, 7, 10}}) {
      const at::Tensor x = sample_images(shape, 2);
      torch::nn::MaxPool2d max(torch::nn::MaxPool2dOptions(3).stride(stride).padding(1));
      torch::nn::AvgPool2d avg(torch::nn::AvgPool2dOptions(3).stride(stride).padding(1).count_include_pad(false));
      expect_close(sequence({stage::max_pool(4, 3, stride, 1)})->forward(x), max->forward(x.contiguous()));
      expect_close(sequence({stage::avg_pool(4, 3, stride, 1)})->forward(x), avg->forward(x.contiguous()));
    }
  }
}

// Output channel k at (i, j): the pixel (2i, 2j) for the first half, (2i + 1, 2j + 1) for the second, zero beyond the
// image.
double reduced_pixel(const at::Tensor& x, const at::Tensor& weight, int64_t n, int64_t k, int64_t i, int64_t j) {
  const int64_t shift = k < weight.size(0) / 2 ? 0 : 1, row = 2 * i + shift, column = 2 * j + shift;
  if (row >= x.size(2) || column >= x.size(3)) return 0;
  double sum = 0;
  for (int64_t c = 0; c < x.size(1); ++c) {
    sum += x[n][c][row][column].item<double>() * weight[k][c][0][0].item<double>();
  }
  return sum;
}

TEST(Layer, FactorizedReduceTakesTwoShiftedGridsOfAnySize) {
  for (const Shape& shape : {Shape{3, 4, 6}, Shape{3, 5, 4}, Shape{3, 3, 5}, Shape{3, 1, 2}}) {
    const Stages stages = {stage::factorized_reduce(3, 5)};
    auto built = sequence(stages);
    at::NoGradGuard no_grad;
    const at::Tensor x = sample_images(shape, 2), y = built->forward(x), weight = only_parameter(*built);
    expect_shape(stages, shape, y);
    for (int64_t k = 0; k < y.size(1); ++k) {
      for (int64_t i = 0; i < y.size(2); ++i) {
        for (int64_t j = 0; j < y.size(3); ++j) {
          EXPECT_NEAR(y[1][k][i][j].item<double>(), reduced_pixel(x, weight, 1, k, i, j), 1e-5);
        }
      }
    }
  }
}

TEST(Layer, SimpleStages) {
  const at::Tensor x = sample_images({4, 5, 3}, 2);
  expect_close(sequence({stage::relu(4)})->forward(x), x.clamp_min(0));
  expect_close(sequence({stage::truncate(4, 3)})->forward(x), x.slice(1, 0, 3));
  expect_close(sequence({stage::global_avg_pool(4)})->forward(x), x.flatten(2).mean(2).view({2, 4, 1, 1}));
  const at::Tensor zeros = sequence({stage::zero(4, 6, 2)})->forward(x);
  expect_close(zeros, at::zeros({2, 6, 3, 2}));
  auto linear = sequence({stage::linear(60, 7)});
  const auto weights = linear->named_parameters();
  expect_close(linear->forward(x), at::addmm(weights["0.bias"], x.reshape({2, 60}), weights["0.weight"].t()));
}

TEST(Layer, AnEmptySequenceIsTheIdentity) {
  const at::Tensor x = sample_images({4, 5, 3}, 2);
  EXPECT_TRUE(sequence({})->forward(x).is_same(x));
  EXPECT_TRUE(sequence({})->is_identity());
  EXPECT_TRUE(is_zero({stage::zero(4, 4, 1)}));
}

TEST(Layer, SharedInputsAreComputedOnce) {
  SharedInput x(sample_images({4, 8, 8}, 2));
  auto first = sequence({stage::relu(4), stage::conv(4, 4, 1)}), second = sequence({stage::relu(4)});
  expect_close(first->forward(x), first->forward(x.value()));
  EXPECT_TRUE(second->forward(x).is_same(second->forward(x)));
  auto norm = sequence({stage::batch_norm(4)});
  EXPECT_FALSE(norm->forward(x).is_same(norm->forward(x)));
}

}  // namespace
}  // namespace nascent
