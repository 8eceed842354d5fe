#include "nascent/space/cell_plan.h"

#include "nascent/space/operation.h"

namespace nascent {

namespace {

bool same_size(const Shape& a, const Shape& b) { return a.height == b.height && a.width == b.width; }

Stages preprocess(const Shape& input, const CellSite& site) {
  const OperationSite at{.in = input.channels, .out = site.channels, .affine = site.affine};
  if (!same_size(input, site.inputs.back())) return relu_reduce_bn(at);
  if (site.project_always || input.channels != site.channels) return relu_conv_bn(at, 1);
  return {};
}

OperationSite operation_site(const CellSite& site, int stride) {
  return {
      .in = site.channels, .out = site.channels, .stride = stride, .affine = site.affine, .pool_norm = site.pool_norm};
}

OperationSite candidate_site(const CellSite& site, int stride) {
  OperationSite at = operation_site(site, stride);
  at.in = at.out = site.channels / site.partial;
  return at;
}

Stages bypass(const CellSite& site, int stride) {
  if (site.partial == 1 || stride == 1) return {};
  const int channels = site.channels - site.channels / site.partial;
  return {halving_pool(stage::max_pool(channels, 2, 2, 0), site.inputs.back())};
}

int stride_from(int state, int inputs, const CellSite& site) { return site.reduction && state < inputs ? 2 : 1; }

std::vector<Stages> candidate_stages(const std::vector<std::string>& ops, const OperationSite& site) {
  std::vector<Stages> candidates;
  for (const std::string& op : ops) candidates.push_back(operation_stages(op, site));
  return candidates;
}

EdgePlan plain_edge(int from, const std::string& op, const OperationSite& site) {
  return {.from = from, .ops = {op}, .candidates = {operation_stages(op, site)}};
}

void add_genotype_nodes(CellPlan& plan, const CellGenotype& cell, const CellSite& site) {
  for (const GenotypeNode& node : cell.nodes) {
    NodePlan node_plan;
    for (const GenotypeEdge& edge : node.edges) {
      const int stride = stride_from(edge.from, cell.inputs, site);
      node_plan.edges.push_back(plain_edge(edge.from, edge.op, operation_site(site, stride)));
    }
    if (!node.op.empty()) {
      node_plan.ops = {node.op};
      node_plan.candidates = {operation_stages(node.op, operation_site(site, 1))};
    }
    plan.nodes.push_back(std::move(node_plan));
  }
  plan.output = cell.output;
}

EdgePlan mixed_edge(int from, const Space& space, const CellSite& site, int stride) {
  return {.from = from,
          .ops = space.ops(),
          .candidates = candidate_stages(space.ops(), candidate_site(site, stride)),
          .partial = site.partial,
          .bypass = bypass(site, stride)};
}

void add_mixed_nodes(CellPlan& plan, const Space& space, const CellChoices& cell, const CellSite& site) {
  check_partial(site.channels, site.partial);
  int edge_row = 0, site_row = 0;
  for (const NodeChoices& node : cell.nodes) {
    NodePlan node_plan;
    for (int from : node.inputs) {
      const int stride = stride_from(from, cell.inputs, site);
      EdgePlan edge = cell.ops_on_nodes ? plain_edge(from, "skip_connect", operation_site(site, stride))
                                        : mixed_edge(from, space, site, stride);
      if (!cell.ops_on_nodes) edge.site = site_row++;
      edge.edge = edge_row++;
      node_plan.edges.push_back(std::move(edge));
    }
    if (cell.ops_on_nodes) {
      node_plan.ops = space.ops();
      node_plan.candidates = candidate_stages(space.ops(), candidate_site(site, 1));
      node_plan.site = site_row++;
      node_plan.partial = site.partial;
    }
    plan.nodes.push_back(std::move(node_plan));
  }
  plan.output = cell.output;
  for (size_t i = 0; cell.output_keep > 0 && i < cell.output.size(); ++i) plan.output_edges.push_back(edge_row++);
}

}  // namespace

CellPlan plan_cell(const Space& space, const Genotype* genotype, const std::string& type, const CellSite& site) {
  const int inputs = genotype ? genotype->cell(type).inputs : space.cell(type).inputs;
  if (inputs > static_cast<int>(site.inputs.size())) {
    fail("A cell of space '{}' takes {} inputs, but its skeleton offers {}. Give the space another skeleton.",
         space.name(), inputs, site.inputs.size());
  }
  CellPlan plan;
  plan.type = type;
  plan.reduction = site.reduction;
  plan.input_shapes.assign(site.inputs.end() - inputs, site.inputs.end());
  for (const Shape& input : plan.input_shapes) plan.preprocess.push_back(preprocess(input, site));
  if (genotype) {
    add_genotype_nodes(plan, genotype->cell(type), site);
  } else {
    add_mixed_nodes(plan, space, space.cell(type), site);
  }
  finish_cell(plan);
  return plan;
}

CellPlan plan_fixed_block(const Shape& input, const std::vector<Stages>& branches, bool reduction) {
  CellPlan plan;
  plan.reduction = reduction;
  plan.input_shapes = {input};
  plan.preprocess = {{}};
  plan.nodes.emplace_back();
  for (const Stages& branch : branches) {
    plan.nodes[0].edges.push_back({.from = 0, .ops = {""}, .candidates = {branch}});
  }
  plan.output = {1};
  finish_cell(plan);
  return plan;
}

void finish_cell(CellPlan& cell) {
  const std::vector<Shape> states = state_shapes(cell);
  Shape shape = states.at(cell.output.at(0));
  shape.channels = 0;
  for (int state : cell.output) {
    if (!same_size(states.at(state), shape))
      fail("The output of a cell of type '{}' joins states of different sizes.", cell.type);
    shape.channels += states[state].channels;
  }
  cell.output_shape = shape;
}

Stage halving_pool(Stage pool, const Shape& input) {
  pool.padding_h = input.height % 2;
  pool.padding_w = input.width % 2;
  return pool;
}

int cells_of(const NetworkOptions& options, const Space& space, const Genotype* genotype, int trained_default) {
  if (options.cells < 0) fail("network.cells is {}, but must be at least 1, or 0 for the default.", options.cells);
  if (options.cells > 0) return options.cells;
  return genotype && !space.own_cells() ? trained_default : space.default_cells();
}

int channels_of(const NetworkOptions& options, const Space& space, const Genotype* genotype, int trained_default) {
  if (options.channels < 0)
    fail("network.channels is {}, but must be at least 1, or 0 for the default.", options.channels);
  if (options.channels > 0) return options.channels;
  return genotype ? trained_default : space.default_channels();
}

void check_partial(int channels, int partial) {
  if (partial >= 1 && channels % partial == 0) return;
  fail(
      "network.partial is {}, by which the {} channels of a cell cannot be divided. Choose network.channels as a "
      "multiple of it.",
      partial, channels);
}

void refuse_auxiliary(const NetworkOptions& options, const std::string& skeleton) {
  if (!options.auxiliary) return;
  fail(
      "The skeleton '{}' has no auxiliary head: switch network.auxiliary off, or choose skeleton 'darts' or "
      "'darts-imagenet'.",
      skeleton);
}

void refuse_stem_stride(const NetworkOptions& options, const std::string& skeleton) {
  if (options.stem_stride == 1) return;
  fail("network.stem-stride is {}, but the stem of skeleton '{}' is fixed; 'darts' and 'nasbench201' have one to set.",
       options.stem_stride, skeleton);
}

}  // namespace nascent
