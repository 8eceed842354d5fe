#include "nascent/space/plan.h"

#include "nascent/core/error.h"
#include "nascent/space/plan_check.h"

namespace nascent {

namespace {

const std::string& skeleton_of(const Space& space, const NetworkOptions& options) {
  return options.skeleton.empty() ? space.skeleton() : options.skeleton;
}

void check_images(const Shape& input, int classes) {
  if (input.channels < 1 || input.height < 1 || input.width < 1) {
    fail("Images of {}x{}x{} (channels x height x width) cannot enter a network; every side must be at least 1.",
         input.channels, input.height, input.width);
  }
  if (classes < 1) fail("A network needs at least 1 class, not {}.", classes);
}

NetworkPlan checked(const Space& space, const Genotype* genotype, const NetworkOptions& options, Shape input,
                    int classes) {
  check_images(input, classes);
  NetworkPlan plan =
      Skeleton::Registry::instance().make(skeleton_of(space, options), space, genotype, options, input, classes);
  check_plan(plan);
  return plan;
}

// The result of one candidate, joined with what passes it by.
Shape joined(const EdgePlan& edge, const Stages& candidate, const Shape& state) {
  const Shape mixed_input = candidate_input(state, edge.partial);
  const Shape mixed = output_shape(candidate, mixed_input);
  if (edge.partial == 1) return mixed;
  const Shape rest = output_shape(edge.bypass, {state.channels - mixed_input.channels, state.height, state.width});
  if (rest.height != mixed.height || rest.width != mixed.width) {
    fail("{}x{} pixels that pass by an edge do not fit the {}x{} of its candidates.", rest.height, rest.width,
         mixed.height, mixed.width);
  }
  return {mixed.channels + rest.channels, mixed.height, mixed.width};
}

Shape node_input_shape(const NodePlan& node, const std::vector<Shape>& states, const std::string& type) {
  Shape sum;
  for (size_t e = 0; e < node.edges.size(); ++e) {
    for (const Stages& candidate : node.edges[e].candidates) {
      const Shape shape = joined(node.edges[e], candidate, states.at(node.edges[e].from));
      if (e == 0 && &candidate == &node.edges[e].candidates.front()) sum = shape;
      if (shape == sum) continue;
      fail("In a cell of type '{}', node {} adds {}x{}x{} to {}x{}x{}.", type, states.size(), shape.channels,
           shape.height, shape.width, sum.channels, sum.height, sum.width);
    }
  }
  return sum;
}

int64_t cell_parameters(const CellPlan& cell) {
  int64_t sum = cell.shortcut ? parameters(*cell.shortcut) : 0;
  for (const Stages& stages : cell.preprocess) sum += parameters(stages);
  for (const NodePlan& node : cell.nodes) {
    for (const EdgePlan& edge : node.edges) {
      for (const Stages& stages : edge.candidates) sum += parameters(stages);
    }
    for (const Stages& stages : node.candidates) sum += parameters(stages);
  }
  return sum;
}

int64_t node_multiply_adds(const NodePlan& node, const std::vector<Shape>& states, const std::string& type) {
  int64_t sum = 0;
  for (const EdgePlan& edge : node.edges) {
    const Shape input = candidate_input(states[edge.from], edge.partial);
    for (const Stages& stages : edge.candidates) sum += multiply_adds(stages, input);
  }
  const Shape input = candidate_input(node_input_shape(node, states, type), node.partial);
  for (const Stages& stages : node.candidates) sum += multiply_adds(stages, input);
  return sum;
}

int64_t cell_multiply_adds(const CellPlan& cell) {
  const std::vector<Shape> states = state_shapes(cell);
  int64_t sum = cell.shortcut ? multiply_adds(*cell.shortcut, states[0]) : 0;
  for (size_t i = 0; i < cell.preprocess.size(); ++i) sum += multiply_adds(cell.preprocess[i], cell.input_shapes[i]);
  for (const NodePlan& node : cell.nodes) sum += node_multiply_adds(node, states, cell.type);
  return sum;
}

}  // namespace

void NetworkOptions::declare(OptionTable& table) {
  auto section = table.section("network", "The network or supernet built from cells.");
  section.add("channels", channels, "channels of the first cells' nodes; 0: 36 for DARTS networks, 16 while searching")
      .range(0, 4096);
  section.add("cells", cells, "number of cells (per stage in nasbench201 and nasbench101); 0: as in the papers")
      .range(0, 1000);
  section.add(
      "skeleton", skeleton,
      "how cells are stacked: " + join(Skeleton::Registry::instance().names(), ", ") + "; empty: the space's own");
  section
      .add("partial", partial,
           "supernets: only 1/partial of the channels go through the candidate operations; the rest bypass them "
           "(PC-DARTS)")
      .range(1, 1024);
  section.add("auxiliary", auxiliary, "auxiliary head during training, at two thirds of the depth (DARTS skeletons)");
  section.add("drop-path", drop_path, "drop-path probability, increasing linearly from 0 to this value").range(0, 1);
  section.add("stem-stride", stem_stride, "stride of the first convolution; 2 for images of 64 pixels (Tiny-ImageNet)")
      .range(1, 16);
}

NetworkPlan plan_supernet(const Space& space, const NetworkOptions& options, Shape input, int classes) {
  return checked(space, nullptr, options, input, classes);
}

NetworkPlan plan_network(const Space& space, const Genotype& genotype, const NetworkOptions& options, Shape input,
                         int classes) {
  space.validate(genotype);
  return checked(space, &genotype, options, input, classes);
}

Shape candidate_input(const Shape& state, int partial) { return {state.channels / partial, state.height, state.width}; }

Shape edge_output(const EdgePlan& edge, const Shape& state) { return joined(edge, edge.candidates.front(), state); }

Shape sum_shape(const NodePlan& node, const std::vector<Shape>& states, const Shape& otherwise) {
  return node.edges.empty() ? otherwise : edge_output(node.edges[0], states[node.edges[0].from]);
}

std::vector<Shape> state_shapes(const CellPlan& cell) {
  std::vector<Shape> states;
  for (size_t i = 0; i < cell.preprocess.size(); ++i) {
    states.push_back(output_shape(cell.preprocess[i], cell.input_shapes[i]));
  }
  for (const NodePlan& node : cell.nodes) {
    Shape shape = node_input_shape(node, states, cell.type);
    if (!node.candidates.empty() && node.partial == 1) shape = output_shape(node.candidates.front(), shape);
    states.push_back(shape);
  }
  return states;
}

int64_t count_parameters(const NetworkPlan& plan, bool with_auxiliary) {
  int64_t sum = parameters(plan.head) + (with_auxiliary ? parameters(plan.auxiliary) : 0);
  for (const Stages& stem : plan.stems) sum += parameters(stem);
  for (const CellPlan& cell : plan.cells) sum += cell_parameters(cell);
  return sum;
}

int64_t count_multiply_adds(const NetworkPlan& plan) {
  int64_t sum = multiply_adds(plan.head, plan.cells.back().output_shape);
  Shape shape = plan.input;
  for (const Stages& stem : plan.stems) {
    sum += multiply_adds(stem, shape);
    shape = output_shape(stem, shape);
  }
  for (const CellPlan& cell : plan.cells) sum += cell_multiply_adds(cell);
  return sum;
}

}  // namespace nascent
