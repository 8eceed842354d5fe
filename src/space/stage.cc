#include "nascent/space/stage.h"

#include "nascent/core/error.h"

namespace nascent {

namespace {

const char* kind_name(StageKind kind) {
  switch (kind) {
    case StageKind::relu:
      return "ReLU";
    case StageKind::conv:
      return "convolution";
    case StageKind::batch_norm:
      return "batch norm";
    case StageKind::max_pool:
      return "max pooling";
    case StageKind::avg_pool:
      return "average pooling";
    case StageKind::factorized_reduce:
      return "factorised reduce";
    case StageKind::zero:
      return "zero";
    case StageKind::truncate:
      return "truncation";
    case StageKind::global_avg_pool:
      return "global average pooling";
    case StageKind::linear:
      return "linear layer";
  }
  return "stage";
}

int half_up(int size, int stride) { return (size + stride - 1) / stride; }

int window_count(int size, int kernel, int stride, int padding, int dilation) {
  const int slack = size + 2 * padding - dilation * (kernel - 1) - 1;
  return slack < 0 ? 0 : slack / stride + 1;
}

Shape windowed(const Stage& stage, const Shape& input) {
  const Shape shape{stage.out,
                    window_count(input.height, stage.kernel_h, stage.stride_h, stage.padding_h, stage.dilation),
                    window_count(input.width, stage.kernel_w, stage.stride_w, stage.padding_w, stage.dilation)};
  if (shape.height < 1 || shape.width < 1) {
    fail("An image of {} is too small for {} with a {}x{} window. Use larger images or fewer cells.", input.text(),
         kind_name(stage.kind), stage.kernel_h, stage.kernel_w);
  }
  return shape;
}

}  // namespace

Shape Stage::output(const Shape& input) const {
  const int features = kind == StageKind::linear ? input.channels * input.height * input.width : input.channels;
  if (features != in) {
    fail("A {} expects {} channels but was given {} ({}).", kind_name(kind), in, features, input.text());
  }
  switch (kind) {
    case StageKind::relu:
    case StageKind::batch_norm:
      return input;
    case StageKind::conv:
    case StageKind::max_pool:
    case StageKind::avg_pool:
      return windowed(*this, input);
    case StageKind::factorized_reduce:
    case StageKind::zero:
      return {out, half_up(input.height, stride_h), half_up(input.width, stride_w)};
    case StageKind::truncate:
      return {out, input.height, input.width};
    case StageKind::global_avg_pool:
    case StageKind::linear:
      return {out, 1, 1};
  }
  return input;
}

int64_t Stage::parameters() const {
  const int64_t offsets = bias ? out : 0;
  switch (kind) {
    case StageKind::conv:
      return int64_t{in} / groups * out * kernel_h * kernel_w + offsets;
    case StageKind::factorized_reduce:
      return int64_t{in} * out;
    case StageKind::linear:
      return int64_t{in} * out + offsets;
    case StageKind::batch_norm:
      return affine ? 2 * int64_t{in} : 0;
    default:
      return 0;
  }
}

int64_t Stage::multiply_adds(const Shape& input) const {
  const Shape shape = output(input);
  const int64_t pixels = int64_t{shape.height} * shape.width;
  switch (kind) {
    case StageKind::conv:
      return int64_t{in} / groups * out * kernel_h * kernel_w * pixels;
    case StageKind::factorized_reduce:
    case StageKind::linear:
      return int64_t{in} * out * pixels;
    default:
      return 0;
  }
}

Shape output_shape(const Stages& stages, Shape input) {
  for (const Stage& stage : stages) input = stage.output(input);
  return input;
}

int64_t parameters(const Stages& stages) {
  int64_t sum = 0;
  for (const Stage& stage : stages) sum += stage.parameters();
  return sum;
}

int64_t multiply_adds(const Stages& stages, Shape input) {
  int64_t sum = 0;
  for (const Stage& stage : stages) {
    sum += stage.multiply_adds(input);
    input = stage.output(input);
  }
  return sum;
}

namespace stage {

Stage relu(int channels) { return {.kind = StageKind::relu, .in = channels, .out = channels}; }

Stage conv(int in, int out, int kernel, int stride, int padding, int dilation, int groups) {
  const int pad = padding >= 0 ? padding : dilation * (kernel - 1) / 2;
  return {.kind = StageKind::conv,
          .in = in,
          .out = out,
          .kernel_h = kernel,
          .kernel_w = kernel,
          .stride_h = stride,
          .stride_w = stride,
          .padding_h = pad,
          .padding_w = pad,
          .dilation = dilation,
          .groups = groups};
}

Stage conv_hw(int in, int out, int kernel_h, int kernel_w, int stride_h, int stride_w) {
  return {.kind = StageKind::conv,
          .in = in,
          .out = out,
          .kernel_h = kernel_h,
          .kernel_w = kernel_w,
          .stride_h = stride_h,
          .stride_w = stride_w,
          .padding_h = (kernel_h - 1) / 2,
          .padding_w = (kernel_w - 1) / 2};
}

Stage depthwise(int channels, int kernel, int stride, int dilation) {
  return conv(channels, channels, kernel, stride, -1, dilation, channels);
}

Stage batch_norm(int channels, bool affine) {
  return {.kind = StageKind::batch_norm, .in = channels, .out = channels, .affine = affine};
}

Stage max_pool(int channels, int kernel, int stride, int padding) {
  Stage pool = conv(channels, channels, kernel, stride, padding);
  pool.kind = StageKind::max_pool;
  return pool;
}

Stage avg_pool(int channels, int kernel, int stride, int padding) {
  Stage pool = conv(channels, channels, kernel, stride, padding);
  pool.kind = StageKind::avg_pool;
  return pool;
}

Stage factorized_reduce(int in, int out) {
  return {.kind = StageKind::factorized_reduce, .in = in, .out = out, .stride_h = 2, .stride_w = 2};
}

Stage zero(int in, int out, int stride) {
  return {.kind = StageKind::zero, .in = in, .out = out, .stride_h = stride, .stride_w = stride};
}

Stage truncate(int in, int out) { return {.kind = StageKind::truncate, .in = in, .out = out}; }

Stage global_avg_pool(int channels) { return {.kind = StageKind::global_avg_pool, .in = channels, .out = channels}; }

Stage linear(int in, int out) { return {.kind = StageKind::linear, .in = in, .out = out, .bias = true}; }

}  // namespace stage

}  // namespace nascent
