// The DARTS networks: cells with two predecessors, reductions at one and two thirds of the depth; for CIFAR and for
// ImageNet (mobile).
#include <algorithm>

#include "nascent/core/error.h"
#include "nascent/space/cell_plan.h"

namespace nascent {

namespace {

// Kernel and stride of the pooling that leaves two windows per side: 5 and 3 for the 8 pixels of CIFAR, 5 and 2 for the
// 7 of ImageNet, as published. Other sizes get the window that covers all pixels.
std::pair<int, int> auxiliary_window(int side) {
  const int stride = side > 8 ? side / 2 : std::max(1, side - 5);
  return {side - stride, stride};
}

Stages auxiliary_head(const Shape& input, int classes) {
  if (input.height < 2 || input.width < 2) {
    fail(
        "The auxiliary head needs at least 2x2 pixels at two thirds of the depth, but the image is {}x{} there. "
        "Use larger images or switch network.auxiliary off.",
        input.height, input.width);
  }
  Stage pool = stage::avg_pool(input.channels, 1, 1, 0);
  std::tie(pool.kernel_h, pool.stride_h) = auxiliary_window(input.height);
  std::tie(pool.kernel_w, pool.stride_w) = auxiliary_window(input.width);
  return {stage::relu(input.channels),
          pool,
          stage::conv(input.channels, 128, 1),
          stage::batch_norm(128),
          stage::relu(128),
          stage::conv(128, 768, 2, 1, 0),
          stage::batch_norm(768),
          stage::relu(768),
          stage::linear(768, classes)};
}

// Cells, head and auxiliary head, after the stems.
void stack_cells(NetworkPlan& plan, const Space& space, const Genotype* genotype, const NetworkOptions& options,
                 int count, int channels) {
  const Shape first = output_shape(plan.stems.front(), plan.input);
  const Shape second = plan.stems.size() > 1 ? output_shape(plan.stems[1], first) : first;
  std::vector<Shape> last_two = {first, second};
  for (int index = 0; index < count; ++index) {
    const bool reduction = index == count / 3 || index == 2 * count / 3;
    if (reduction) channels *= 2;
    const CellSite site{.inputs = last_two,
                        .channels = channels,
                        .reduction = reduction,
                        .affine = genotype != nullptr,
                        .pool_norm = genotype == nullptr,
                        .project_always = true,
                        .partial = genotype ? 1 : options.partial};
    plan.cells.push_back(plan_cell(space, genotype, space.type_at(index, count, reduction), site));
    last_two = {last_two[1], plan.cells.back().output_shape};
  }
  const int features = last_two[1].channels;
  plan.head = {stage::global_avg_pool(features), stage::linear(features, plan.classes)};
  if (options.auxiliary) {
    plan.auxiliary_cell = 2 * count / 3;
    plan.auxiliary = auxiliary_head(plan.cells[plan.auxiliary_cell].output_shape, plan.classes);
  }
}

NetworkPlan plan_cifar(const Space& space, const Genotype* genotype, const NetworkOptions& options, Shape input,
                       int classes) {
  NetworkPlan plan{.space = space.name(), .skeleton = "darts", .input = input, .classes = classes};
  const int channels = channels_of(options, space, genotype, 36);
  const int stem = 3 * channels;
  plan.stems = {{stage::conv(input.channels, stem, 3, options.stem_stride), stage::batch_norm(stem)}};
  stack_cells(plan, space, genotype, options, cells_of(options, space, genotype, 20), channels);
  return plan;
}

NetworkPlan plan_imagenet(const Space& space, const Genotype* genotype, const NetworkOptions& options, Shape input,
                          int classes) {
  NetworkPlan plan{.space = space.name(), .skeleton = "darts-imagenet", .input = input, .classes = classes};
  refuse_stem_stride(options, plan.skeleton);
  const int channels = channels_of(options, space, genotype, 48);
  if (channels < 2) fail("The skeleton 'darts-imagenet' needs network.channels of at least 2, not {}.", channels);
  const int half = channels / 2;
  plan.stems = {{stage::conv(input.channels, half, 3, 2), stage::batch_norm(half), stage::relu(half),
                 stage::conv(half, channels, 3, 2), stage::batch_norm(channels)},
                {stage::relu(channels), stage::conv(channels, channels, 3, 2), stage::batch_norm(channels)}};
  stack_cells(plan, space, genotype, options, cells_of(options, space, genotype, 14), channels);
  return plan;
}

}  // namespace

NASCENT_REGISTER(Skeleton, "darts", "CIFAR network of DARTS: stem, cells with two reductions, pooling, linear",
                 plan_cifar, SkeletonFacts{.fewest_cells = 3, .retraining = "retrain-cifar"});
NASCENT_REGISTER(Skeleton, "darts-imagenet",
                 "mobile ImageNet network of DARTS: three-convolution stem to 1/8 of the side", plan_imagenet,
                 SkeletonFacts{.fewest_cells = 3, .retraining = "retrain-cifar"});

}  // namespace nascent
