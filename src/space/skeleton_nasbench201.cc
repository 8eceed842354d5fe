// The NAS-Bench-201 network: three stages of cells, joined by residual blocks that halve the image and double the
// channels.
#include "nascent/space/cell_plan.h"

namespace nascent {

namespace {

CellPlan residual_block(const Shape& input, int out) {
  const int in = input.channels;
  const Stages convolutions = {stage::relu(in),  stage::conv(in, out, 3, 2), stage::batch_norm(out),
                               stage::relu(out), stage::conv(out, out, 3),   stage::batch_norm(out)};
  const Stages shortcut = {halving_pool(stage::avg_pool(in, 2, 2, 0), input), stage::conv(in, out, 1)};
  return plan_fixed_block(input, {convolutions, shortcut}, true);
}

NetworkPlan plan_nasbench201(const Space& space, const Genotype* genotype, const NetworkOptions& options, Shape input,
                             int classes) {
  refuse_auxiliary(options, "nasbench201");
  NetworkPlan plan{.space = space.name(), .skeleton = "nasbench201", .input = input, .classes = classes};
  int channels = channels_of(options, space, genotype, 16);
  const int per_stage = cells_of(options, space, genotype, 5);
  plan.stems = {{stage::conv(input.channels, channels, 3, options.stem_stride), stage::batch_norm(channels)}};
  Shape shape = output_shape(plan.stems[0], input);
  for (int index = 0; index < 3 * per_stage; ++index) {
    if (index == per_stage || index == 2 * per_stage) {
      channels *= 2;
      plan.cells.push_back(residual_block(shape, channels));
      shape = plan.cells.back().output_shape;
    }
    const CellSite site{.inputs = {shape},
                        .channels = channels,
                        .affine = genotype != nullptr,
                        .partial = genotype ? 1 : options.partial};
    plan.cells.push_back(plan_cell(space, genotype, space.type_at(index, 3 * per_stage, false), site));
    shape = plan.cells.back().output_shape;
  }
  const int features = shape.channels;
  plan.head = {stage::batch_norm(features), stage::relu(features), stage::global_avg_pool(features),
               stage::linear(features, classes)};
  return plan;
}

}  // namespace

NASCENT_REGISTER(Skeleton, "nasbench201", "three stages of cells with residual blocks between", plan_nasbench201);

}  // namespace nascent
