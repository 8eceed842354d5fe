// The NAS-Bench-101 network: three stacks of cells with max pooling between; its supernet is that of NAS-Bench-1Shot1.
//
// The supernet keeps NAS-Bench-101's own batch norms, with learnt scale and shift, and puts none after pools; a node
// that takes all its candidate inputs weights none of them; before the classifier stands a ReLU-conv1x1-BN to the width
// of the last stack, whose norm is not affine.
#include "nascent/space/cell_plan.h"
#include "nascent/space/nasbench101.h"
#include "nascent/space/operation.h"

namespace nascent {

namespace {

Stages projection(int in, int out) { return operation_stages("conv1x1-bn-relu", {.in = in, .out = out}); }

EdgePlan vertex_edge(int from, int in, int out) {
  if (from == 0) return {.from = 0, .ops = {""}, .candidates = {projection(in, out)}};
  Stages stages;
  if (in != out) stages.push_back(stage::truncate(in, out));
  return {.from = from, .ops = {""}, .candidates = {stages}};
}

CellPlan plan_discrete(const CellGenotype& unpruned, const Shape& input, int out) {
  const CellGenotype cell = prune(unpruned);
  std::vector<int> channels = vertex_channels(cell, out);
  channels.insert(channels.begin(), input.channels);
  CellPlan plan{.type = cell.type, .input_shapes = {input}, .preprocess = {{}}};
  for (size_t n = 0; n < cell.nodes.size(); ++n) {
    const int width = channels[n + 1];
    NodePlan node;
    for (const GenotypeEdge& edge : cell.nodes[n].edges) {
      node.edges.push_back(vertex_edge(edge.from, channels[edge.from], width));
    }
    node.ops = {cell.nodes[n].op};
    node.candidates = {operation_stages(cell.nodes[n].op, {.in = width, .out = width})};
    plan.nodes.push_back(std::move(node));
  }
  for (int state : cell.output) {
    if (state > 0) plan.output.push_back(state);
  }
  // A cell that is only its projected input has nothing to add the projection to.
  if (plan.output.empty()) {
    plan.output = {0};
    plan.preprocess = {projection(input.channels, out)};
  } else if (cell.output.front() == 0) {
    plan.shortcut = projection(input.channels, out);
  }
  finish_cell(plan);
  return plan;
}

// Every vertex `channels` wide; the input may feed any vertex, by a projection, and the output.
CellPlan plan_mixed(const Space& space, const CellChoices& cell, const Shape& input, int channels, int partial) {
  check_partial(channels, partial);
  const OperationSite site{.in = channels / partial, .out = channels / partial};
  CellPlan plan{.type = cell.type, .input_shapes = {input}, .preprocess = {{}}};
  int edge_row = 0, site_row = 0;
  for (const NodeChoices& choices : cell.nodes) {
    NodePlan node;
    const bool chooses = choices.keep < static_cast<int>(choices.inputs.size());
    for (int from : choices.inputs) {
      Stages stages;
      if (from == 0) stages = projection(input.channels, channels);
      node.edges.push_back({.from = from, .ops = {""}, .candidates = {stages}, .edge = chooses ? edge_row : -1});
      ++edge_row;
    }
    node.ops = space.ops();
    for (const std::string& op : space.ops()) node.candidates.push_back(operation_stages(op, site));
    node.site = site_row++;
    node.partial = partial;
    plan.nodes.push_back(std::move(node));
  }
  for (int state : cell.output) {
    const int row = cell.output_keep > 0 ? edge_row++ : -1;
    if (state == 0) {
      plan.shortcut_edge = row;
      continue;
    }
    plan.output.push_back(state);
    if (row >= 0) plan.output_edges.push_back(row);
  }
  if (cell.output.front() == 0) {
    plan.shortcut = projection(input.channels, channels * static_cast<int>(plan.output.size()));
  }
  finish_cell(plan);
  return plan;
}

void check_cells(const Space& space, const Genotype* genotype) {
  const CellChoices& cell = space.cells().at(0);
  if (cell.inputs != 1 || !cell.ops_on_nodes) {
    fail("The skeleton 'nasbench101' stacks cells with one input and operations on nodes; those of space '{}' are not.",
         space.name());
  }
  const bool free_graph = !cell.nodes.empty() && cell.nodes[0].keep == 0;
  if (!genotype && free_graph) {
    fail("The space '{}' has no supernet. Search in nasbench1shot1-s1, -s2 or -s3, which are parts of it.",
         space.name());
  }
}

NetworkPlan plan_nasbench101(const Space& space, const Genotype* genotype, const NetworkOptions& options, Shape input,
                             int classes) {
  refuse_auxiliary(options, "nasbench101");
  refuse_stem_stride(options, "nasbench101");
  check_cells(space, genotype);
  NetworkPlan plan{.space = space.name(), .skeleton = "nasbench101", .input = input, .classes = classes};
  int channels = channels_of(options, space, genotype, 128);
  const int per_stack = cells_of(options, space, genotype, 3);
  plan.stems = {operation_stages("conv3x3-bn-relu", {.in = input.channels, .out = channels})};
  Shape shape = output_shape(plan.stems[0], input);
  for (int index = 0; index < 3 * per_stack; ++index) {
    if (index == per_stack || index == 2 * per_stack) {
      channels *= 2;
      const Stage pool = halving_pool(stage::max_pool(shape.channels, 2, 2, 0), shape);
      plan.cells.push_back(plan_fixed_block(shape, {{pool}}, true));
      shape = plan.cells.back().output_shape;
    }
    const std::string type = space.type_at(index, 3 * per_stack, false);
    plan.cells.push_back(genotype ? plan_discrete(genotype->cell(type), shape, channels)
                                  : plan_mixed(space, space.cell(type), shape, channels, options.partial));
    shape = plan.cells.back().output_shape;
  }
  if (!genotype) plan.head = relu_conv_bn({.in = shape.channels, .out = channels, .affine = false}, 1);
  const int features = genotype ? shape.channels : channels;
  plan.head.push_back(stage::global_avg_pool(features));
  plan.head.push_back(stage::linear(features, classes));
  return plan;
}

}  // namespace

NASCENT_REGISTER(Skeleton, "nasbench101", "three stacks of cells with max pooling between", plan_nasbench101);

}  // namespace nascent
