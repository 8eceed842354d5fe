#include "nascent/nn/cell.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>

#include "nascent/core/error.h"
#include "nascent/core/random.h"
#include "nascent/nn/fused_cell.h"

namespace nascent {

namespace {

at::Tensor mask_tensor(const at::Tensor& x, const CellContext& context, int edge) {
  const std::vector<float> mask = drop_mask(x.size(0), context, edge);
  return at::tensor(mask, at::kFloat).to(x.options()).view({x.size(0), 1, 1, 1});
}

std::vector<int64_t> sizes_of(const at::Tensor& x, const Shape& shape) {
  return {x.size(0), shape.channels, shape.height, shape.width};
}

at::Tensor shifted(const at::Tensor& state, const MixedOperation& operation, const CellMixture* mixture) {
  if (operation.site() < 0 || !mixture->shifts.defined()) return state;
  return state + mixture->shifts[operation.site()];
}

}  // namespace

std::vector<float> drop_mask(int64_t images, const CellContext& context, int edge) {
  const double keep = 1 - context.drop_path;
  RandomStream random(context.seed, "drop-path", {context.step, context.cell, static_cast<uint64_t>(edge)});
  const auto draw = [&] { return random.uniform() < keep ? static_cast<float>(1 / keep) : 0.0f; };
  if (context.drop_together) return std::vector<float>(images, draw());
  std::vector<float> mask(images);
  std::generate(mask.begin(), mask.end(), draw);
  return mask;
}

Cell::Cell(const CellPlan& plan) : plan_(plan) {
  for (const Stages& stages : plan.preprocess) {
    parts_.preprocess.push_back(
        register_module(fmt::format("pre{}", parts_.preprocess.size()), std::make_shared<StageSequence>(stages)));
    note_sequences({parts_.preprocess.back().get()});
  }
  const std::vector<Shape> shapes = state_shapes(plan);
  for (const NodePlan& node : plan.nodes) {
    const int state = static_cast<int>(parts_.preprocess.size() + parts_.nodes.size());
    add_node(node, state);
    parts_.nodes.back().shape = shapes[state];
    parts_.nodes.back().sum_shape = sum_shape(node, shapes, shapes[state]);
  }
  if (plan.shortcut) {
    parts_.shortcut = register_module("shortcut", std::make_shared<StageSequence>(*plan.shortcut));
    note_sequences({parts_.shortcut.get()});
  }
  for (const int edge : plan.output_edges) note_rows(-1, 0, edge);
  note_rows(-1, 0, plan.shortcut_edge);
  fused_ = std::make_unique<FusedCell>(*this);
}

Cell::~Cell() = default;

void Cell::note_sequences(const std::vector<const StageSequence*>& sequences) {
  sequences_.insert(sequences_.end(), sequences.begin(), sequences.end());
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
    note_sequences(operation->sequences());
    node.edges.push_back({edge.from, container->register_module(name, std::move(operation))});
    note_rows(edge.site, static_cast<int>(edge.candidates.size()), edge.edge);
    ++edge_count_;
  }
  if (!plan.candidates.empty()) {
    node.operation = container->register_module("op", std::make_shared<MixedOperation>(plan));
    note_sequences(node.operation->sequences());
    note_rows(plan.site, static_cast<int>(plan.candidates.size()), -1);
  }
  parts_.nodes.push_back(std::move(node));
}

void Cell::note_rows(int site, int ops, int edge) {
  sites_ = std::max(sites_, site + 1);
  edges_ = std::max(edges_, edge + 1);
  if (site >= 0) ops_ = std::max(ops_, ops);
}

void Cell::check(const CellMixture& mixture) const {
  if (sites_ > 0 && (!mixture.ops.defined() || mixture.ops.dim() < 2 || mixture.ops.size(0) < sites_ ||
                     mixture.ops.size(1) != ops_)) {
    fail("The mixture of cell type '{}' must weight {} operations at {} sites, but its table is {}.", plan_.type, ops_,
         sites_, mixture.ops.defined() ? fmt::format("[{}]", fmt::join(mixture.ops.sizes(), ", ")) : "missing");
  }
  if (mixture.edges.defined() && (mixture.edges.dim() != 1 || mixture.edges.size(0) < edges_)) {
    fail("The mixture of cell type '{}' must weight {} edges, but its table is [{}].", plan_.type, edges_,
         fmt::join(mixture.edges.sizes(), ", "));
  }
  if (!mixture.active.empty() && static_cast<int>(mixture.active.size()) < sites_) {
    fail("The mixture of cell type '{}' lists active candidates of {} sites, but there are {}.", plan_.type,
         mixture.active.size(), sites_);
  }
}

namespace {

// What fused cells give in bf16, for LibTorch's operations.
std::vector<at::Tensor> in_float(std::vector<at::Tensor> inputs) {
  for (at::Tensor& input : inputs) {
    if (input.scalar_type() == at::kBFloat16) input = input.to(at::kFloat);
  }
  return inputs;
}

}  // namespace

at::Tensor Cell::forward(const std::vector<at::Tensor>& inputs, const CellContext& context) const {
  // Shifts are no part of the fused form.
  const bool shifted = context.mixture && context.mixture->shifts.defined();
  at::Tensor states = shifted ? at::Tensor() : fused_->forward(inputs, context);
  if (!states.defined()) states = plain_states(in_float(inputs), context);
  return output(states, context);
}

at::Tensor Cell::plain_states(const std::vector<at::Tensor>& inputs, const CellContext& context) const {
  std::vector<SharedInput> states;
  for (size_t i = 0; i < parts_.preprocess.size(); ++i) states.emplace_back(parts_.preprocess[i]->forward(inputs[i]));
  int edge_index = 0;
  for (const Node& node : parts_.nodes) states.emplace_back(node_state(node, states, context, edge_index));
  std::vector<at::Tensor> parts;
  for (const int state : plan_.output) parts.push_back(states[state].value());
  if (parts_.shortcut) parts.push_back(parts_.shortcut->forward(states[0]));
  return parts.size() == 1 ? parts[0] : at::cat(parts, 1);
}

at::Tensor Cell::node_state(const Node& node, std::vector<SharedInput>& states, const CellContext& context,
                            int& edge_index) const {
  const at::Tensor& like = states[0].value();
  WeightedSum sum;
  for (const Edge& edge : node.edges) {
    const bool drop = drops(context) && edge.operation->can_drop();
    const at::Tensor mask = drop ? mask_tensor(like, context, edge_index) : at::Tensor();
    edge.operation->add_to(sum, states[edge.from], context.mixture, mask);
    ++edge_index;
  }
  at::Tensor state = sum.result(sizes_of(like, node.sum_shape), like);
  for (const Edge& edge : node.edges) state = shifted(state, *edge.operation, context.mixture);
  if (!node.operation) return state;
  SharedInput input(std::move(state));
  WeightedSum mixed;
  node.operation->add_to(mixed, input, context.mixture, {});
  return shifted(mixed.result(sizes_of(like, node.shape), like), *node.operation, context.mixture);
}

// States are scaled by the weights of their edges into the output; then comes the shortcut (NAS-Bench-1Shot1).
at::Tensor Cell::output(const at::Tensor& states, const CellContext& context) const {
  const at::Tensor edges = context.mixture ? context.mixture->edges : at::Tensor();
  const int64_t channels = plan_.output_shape.channels;
  at::Tensor result = parts_.shortcut ? states.narrow(1, 0, channels) : states;
  if (const std::vector<int>& rows = plan_.output_edges; edges.defined() && !rows.empty()) {
    const at::Tensor index = at::tensor(std::vector<int64_t>(rows.begin(), rows.end()), at::kLong).to(edges.device());
    const at::Tensor factors = edges.index_select(0, index);
    result = result * factors.repeat_interleave(channels / static_cast<int64_t>(rows.size())).view({1, -1, 1, 1});
  }
  if (!parts_.shortcut) return result;
  at::Tensor shortcut = states.narrow(1, channels, states.size(1) - channels);
  if (edges.defined() && plan_.shortcut_edge >= 0) shortcut = shortcut * edges[plan_.shortcut_edge];
  return result + shortcut;
}

}  // namespace nascent
