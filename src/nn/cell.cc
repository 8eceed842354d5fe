#include "nn/cell.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/random.h"

namespace nascent {

namespace {

// Per image 1/keep or 0, as in DARTS. Undefined where nothing is dropped.
at::Tensor drop_mask(const at::Tensor& x, const CellContext& context, int edge) {
  const int64_t images = x.size(0);
  const double keep = 1 - context.drop_path;
  RandomStream random(context.seed, "drop-path", {context.step, context.cell, static_cast<uint64_t>(edge)});
  std::vector<double> mask(images);
  for (double& m : mask) m = random.uniform() < keep ? 1 / keep : 0;
  return at::tensor(mask, at::kDouble).to(x.options()).view({images, 1, 1, 1});
}

std::vector<int64_t> sizes_of(const at::Tensor& x, const Shape& shape) {
  return {x.size(0), shape.channels, shape.height, shape.width};
}

Shape sum_shape(const NodePlan& node, const std::vector<Shape>& states, const Shape& otherwise) {
  if (node.edges.empty()) return otherwise;
  return edge_output(node.edges[0], states[node.edges[0].from]);
}

}  // namespace

Cell::Cell(const CellPlan& plan)
    : type_(plan.type), output_(plan.output), output_edges_(plan.output_edges), shortcut_edge_(plan.shortcut_edge) {
  for (const Stages& stages : plan.preprocess) {
    preprocess_.push_back(
        register_module(fmt::format("pre{}", preprocess_.size()), std::make_shared<StageSequence>(stages)));
  }
  const std::vector<Shape> shapes = state_shapes(plan);
  for (const NodePlan& node : plan.nodes) {
    const int state = static_cast<int>(preprocess_.size() + nodes_.size());
    add_node(node, state);
    nodes_.back().shape = shapes[state];
    nodes_.back().sum_shape = sum_shape(node, shapes, shapes[state]);
  }
  if (plan.shortcut) shortcut_ = register_module("shortcut", std::make_shared<StageSequence>(*plan.shortcut));
  for (const int edge : output_edges_) note_rows(-1, 0, edge);
  note_rows(-1, 0, shortcut_edge_);
}

void Cell::add_node(const NodePlan& plan, int state) {
  Node node;
  auto container = register_module(fmt::format("node{}", state), std::make_shared<torch::nn::Module>());
  for (const EdgePlan& edge : plan.edges) {
    const auto same =
        std::count_if(node.edges.begin(), node.edges.end(), [&](const Edge& other) { return other.from == edge.from; });
    const std::string name =
        same == 0 ? fmt::format("from{}", edge.from) : fmt::format("from{}_{}", edge.from, same + 1);
    auto operation = std::make_shared<MixedOperation>(edge);
    node.edges.push_back({edge.from, container->register_module(name, std::move(operation))});
    note_rows(edge.site, static_cast<int>(edge.candidates.size()), edge.edge);
  }
  if (!plan.candidates.empty()) {
    node.operation = container->register_module("op", std::make_shared<MixedOperation>(plan));
    note_rows(plan.site, static_cast<int>(plan.candidates.size()), -1);
  }
  nodes_.push_back(std::move(node));
}

void Cell::note_rows(int site, int ops, int edge) {
  sites_ = std::max(sites_, site + 1);
  edges_ = std::max(edges_, edge + 1);
  if (site >= 0) ops_ = std::max(ops_, ops);
}

void Cell::check(const CellMixture& mixture) const {
  if (sites_ > 0 && (!mixture.ops.defined() || mixture.ops.dim() < 2 || mixture.ops.size(0) < sites_ ||
                     mixture.ops.size(1) != ops_)) {
    fail("The mixture of cell type '{}' must weight {} operations at {} sites, but its table is {}.", type_, ops_,
         sites_, mixture.ops.defined() ? fmt::format("[{}]", fmt::join(mixture.ops.sizes(), ", ")) : "missing");
  }
  if (mixture.edges.defined() && (mixture.edges.dim() != 1 || mixture.edges.size(0) < edges_)) {
    fail("The mixture of cell type '{}' must weight {} edges, but its table is [{}].", type_, edges_,
         fmt::join(mixture.edges.sizes(), ", "));
  }
  if (!mixture.active.empty() && static_cast<int>(mixture.active.size()) < sites_) {
    fail("The mixture of cell type '{}' lists active candidates of {} sites, but there are {}.", type_,
         mixture.active.size(), sites_);
  }
}

at::Tensor Cell::forward(const std::vector<at::Tensor>& inputs, const CellContext& context) const {
  std::vector<SharedInput> states;
  for (size_t i = 0; i < preprocess_.size(); ++i) states.emplace_back(preprocess_[i]->forward(inputs[i]));
  int edge_index = 0;
  for (const Node& node : nodes_) states.emplace_back(node_state(node, states, context, edge_index));
  return output(states, context);
}

at::Tensor Cell::node_state(const Node& node, std::vector<SharedInput>& states, const CellContext& context,
                            int& edge_index) const {
  const at::Tensor& like = states[0].value();
  WeightedSum sum;
  for (const Edge& edge : node.edges) {
    const bool drop = context.drop_path > 0 && !type_.empty() && edge.operation->can_drop();
    const at::Tensor mask = drop ? drop_mask(like, context, edge_index) : at::Tensor();
    edge.operation->add_to(sum, states[edge.from], context.mixture, mask);
    ++edge_index;
  }
  at::Tensor state = sum.result(sizes_of(like, node.sum_shape), like);
  if (!node.operation) return state;
  SharedInput input(std::move(state));
  WeightedSum mixed;
  node.operation->add_to(mixed, input, context.mixture, {});
  return mixed.result(sizes_of(like, node.shape), like);
}

at::Tensor Cell::output(std::vector<SharedInput>& states, const CellContext& context) const {
  const bool weighted = context.mixture && context.mixture->edges.defined();
  std::vector<at::Tensor> parts;
  for (size_t i = 0; i < output_.size(); ++i) {
    const at::Tensor& state = states[output_[i]].value();
    parts.push_back(weighted && !output_edges_.empty() ? state * context.mixture->edges[output_edges_[i]] : state);
  }
  at::Tensor result = parts.size() == 1 ? parts[0] : at::cat(parts, 1);
  if (!shortcut_) return result;
  at::Tensor shortcut = shortcut_->forward(states[0]);
  if (weighted && shortcut_edge_ >= 0) shortcut = shortcut * context.mixture->edges[shortcut_edge_];
  return result + shortcut;
}

}  // namespace nascent
