// The kinds of stage that operations and skeletons are made of: their shapes and counts.
#include "nascent/core/error.h"
#include "nascent/core/registry.h"
#include "nascent/space/stage.h"

namespace nascent {

namespace {

int half_up(int size, int stride) { return (size + stride - 1) / stride; }

int window_count(int size, int kernel, int stride, int padding, int dilation) {
  const int64_t slack = size + 2 * int64_t{padding} - int64_t{dilation} * (kernel - 1) - 1;
  return slack < 0 ? 0 : static_cast<int>(slack / stride + 1);
}

// --- shapes ---

Shape same(const Stage&, const Shape& input) { return input; }

Shape windowed(const Stage& stage, const Shape& input) {
  const Shape shape{stage.out,
                    window_count(input.height, stage.kernel_h, stage.stride_h, stage.padding_h, stage.dilation),
                    window_count(input.width, stage.kernel_w, stage.stride_w, stage.padding_w, stage.dilation)};
  if (shape.height < 1 || shape.width < 1) {
    fail("An image of {} is too small for {} with a {}x{} window. Use larger images or fewer cells.", input.text(),
         StageKinds::instance().at(stage.kind).description, stage.kernel_h, stage.kernel_w);
  }
  return shape;
}

Shape strided(const Stage& stage, const Shape& input) {
  return {stage.out, half_up(input.height, stage.stride_h), half_up(input.width, stage.stride_w)};
}

Shape fewer_channels(const Stage& stage, const Shape& input) { return {stage.out, input.height, input.width}; }

Shape one_pixel(const Stage& stage, const Shape&) { return {stage.out, 1, 1}; }

// --- counts ---

int64_t biases(const Stage& stage) { return stage.bias ? stage.out : 0; }
int64_t pixels(const Shape& shape) { return int64_t{shape.height} * shape.width; }
int64_t conv_weights(const Stage& s) { return int64_t{s.in} / s.groups * s.out * s.kernel_h * s.kernel_w; }
int64_t dense_weights(const Stage& stage) { return int64_t{stage.in} * stage.out; }

// --- numbers ---

void check_groups(const Stage& stage) {
  if (stage.in % stage.groups == 0 && stage.out % stage.groups == 0) return;
  fail("The {} groups of a convolution must divide both its {} output and {} input channels.", stage.groups, stage.out,
       stage.in);
}

void check_pool(const Stage& stage) {
  if (stage.dilation != 1) fail("A pooling cannot have a dilation; {} was given.", stage.dilation);
  if (2 * stage.padding_h <= stage.kernel_h && 2 * stage.padding_w <= stage.kernel_w) return;
  fail("A pooling over {}x{} windows is padded by {}x{}, which is more than half of them.", stage.kernel_h,
       stage.kernel_w, stage.padding_h, stage.padding_w);
}

// Two halves of one pixel in four each.
void check_halving(const Stage& stage) {
  if (stage.stride_h == 2 && stage.stride_w == 2) return;
  fail("A factorised reduce has stride 2, not {}x{}.", stage.stride_h, stage.stride_w);
}

void check_truncation(const Stage& stage) {
  if (stage.out <= stage.in) return;
  fail("A truncation of {} channels cannot keep {}.", stage.in, stage.out);
}

}  // namespace

NASCENT_REGISTER(StageRule, "relu", "ReLU", same);
NASCENT_REGISTER(StageRule, "conv", "convolution", windowed,
                 StageFacts{.parameters = [](const Stage& stage) { return conv_weights(stage) + biases(stage); },
                            .multiply_adds = [](const Stage& stage,
                                                const Shape& output) { return conv_weights(stage) * pixels(output); },
                            .keeps_channels = false,
                            .check = check_groups});
NASCENT_REGISTER(StageRule, "batch_norm", "batch norm", same,
                 StageFacts{.parameters = [](const Stage& stage) { return stage.affine ? 2 * int64_t{stage.in} : 0; }});
NASCENT_REGISTER(StageRule, "max_pool", "max pooling", windowed, StageFacts{.check = check_pool});
NASCENT_REGISTER(StageRule, "avg_pool", "average pooling", windowed, StageFacts{.check = check_pool});
NASCENT_REGISTER(StageRule, "factorized_reduce", "factorised reduce", strided,
                 StageFacts{.parameters = dense_weights,
                            .multiply_adds = [](const Stage& stage,
                                                const Shape& output) { return dense_weights(stage) * pixels(output); },
                            .keeps_channels = false,
                            .check = check_halving});
NASCENT_REGISTER(StageRule, "zero", "zero", strided, StageFacts{.keeps_channels = false});
NASCENT_REGISTER(StageRule, "truncate", "truncation", fewer_channels,
                 StageFacts{.keeps_channels = false, .check = check_truncation});
NASCENT_REGISTER(StageRule, "global_avg_pool", "global average pooling", one_pixel);
NASCENT_REGISTER(StageRule, "linear", "linear layer", one_pixel,
                 StageFacts{.parameters = [](const Stage& stage) { return dense_weights(stage) + biases(stage); },
                            .multiply_adds = [](const Stage& stage, const Shape&) { return dense_weights(stage); },
                            .flattens = true,
                            .keeps_channels = false});

}  // namespace nascent
