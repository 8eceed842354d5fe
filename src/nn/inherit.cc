#include "nascent/nn/inherit.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <regex>

#include "nascent/core/error.h"
#include "nascent/core/text.h"

namespace nascent {

namespace {

// --- plans ---

template <class Place>
Place keep_candidate(Place place, const std::string& op, const std::string& type) {
  const auto found = std::find(place.ops.begin(), place.ops.end(), op);
  if (found == place.ops.end()) {
    fail("The genotype has '{}' in a cell of type '{}' where the supernet offers: {}.", op, type,
         join(place.ops, ", "));
  }
  const size_t index = found - place.ops.begin();
  place.candidates = {Stages(place.candidates[index])};
  place.ops = {op};
  place.site = -1;
  return place;
}

EdgePlan derive_edge(const NodePlan& node, const GenotypeEdge& choice, const std::string& type) {
  for (const EdgePlan& edge : node.edges) {
    if (edge.from != choice.from) continue;
    EdgePlan kept = edge.site >= 0 ? keep_candidate(edge, choice.op, type) : edge;
    kept.edge = -1;
    return kept;
  }
  fail("The genotype has an edge from state {} in a cell of type '{}' where the supernet has none.", choice.from, type);
}

NodePlan derive_node(const NodePlan& node, const GenotypeNode& choice, const std::string& type) {
  NodePlan kept = node;
  kept.edges.clear();
  for (const GenotypeEdge& edge : choice.edges) kept.edges.push_back(derive_edge(node, edge, type));
  if (node.site < 0) return kept;
  return keep_candidate(kept, choice.op, type);
}

bool contains(const std::vector<int>& values, int value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

// The output keeps its width: states that the genotype leaves out of a weighted output become zeros, and an unweighted
// output (all nodes, though a NASNet genotype would join fewer) stays as the supernet has it.
void derive_output(CellPlan& cell, const CellGenotype& choice) {
  if (cell.shortcut_edge >= 0 && !contains(choice.output, 0)) cell.shortcut.reset();
  cell.shortcut_edge = -1;
  if (cell.output_edges.empty()) return;
  const std::vector<Shape> shapes = state_shapes(cell);
  for (int& state : cell.output) {
    if (contains(choice.output, state)) continue;
    const Stages zeros = {stage::zero(shapes[state].channels, shapes[state].channels, 1)};
    cell.nodes.emplace_back().edges = {{.from = state, .ops = {"none"}, .candidates = {zeros}}};
    state = static_cast<int>(cell.preprocess.size() + cell.nodes.size()) - 1;
  }
  cell.output_edges.clear();
}

CellPlan derive_cell(const CellPlan& cell, const CellGenotype& choice) {
  if (choice.nodes.size() != cell.nodes.size()) {
    fail("The genotype's cell of type '{}' has {} nodes, but the supernet's has {}.", cell.type, choice.nodes.size(),
         cell.nodes.size());
  }
  CellPlan kept = cell;
  for (size_t n = 0; n < cell.nodes.size(); ++n) {
    kept.nodes[n] = derive_node(cell.nodes[n], choice.nodes[n], cell.type);
  }
  derive_output(kept, choice);
  return kept;
}

// --- weights ---

std::map<std::string, at::Tensor> tensors_of(const Network& network) {
  std::map<std::string, at::Tensor> all;
  for (const auto& item : network.named_parameters()) all.emplace(item.key(), item.value());
  for (const auto& item : network.named_buffers()) all.emplace(item.key(), item.value());
  return all;
}

// A second edge from the same state shares the supernet's only one.
std::string shared_name(const std::string& name) {
  static const std::regex repeated(R"(\.from(\d+)_\d+\.)");
  return std::regex_replace(name, repeated, ".from$1.");
}

const at::Tensor* counterpart(const std::map<std::string, at::Tensor>& from, const std::string& name) {
  auto found = from.find(name);
  if (found == from.end()) found = from.find(shared_name(name));
  return found == from.end() ? nullptr : &found->second;
}

void copy(const std::string& name, const at::Tensor& source, const at::Tensor& target) {
  if (source.sizes() != target.sizes()) {
    fail(
        "'{}' is [{}] in one network and [{}] in the other, so its weights cannot be copied. Build the second with "
        "derive_plan, or with the same channels.",
        name, fmt::join(source.sizes(), ", "), fmt::join(target.sizes(), ", "));
  }
  target.copy_(source);
}

}  // namespace

NetworkPlan derive_plan(const NetworkPlan& supernet, const Genotype& genotype) {
  NetworkPlan plan = supernet;
  for (CellPlan& cell : plan.cells) {
    if (!cell.type.empty()) cell = derive_cell(cell, genotype.cell(cell.type));
  }
  return plan;
}

std::vector<std::string> copy_weights(const Network& from, Network& to) {
  at::NoGradGuard no_grad;
  const auto sources = tensors_of(from);
  std::vector<std::string> alone;
  for (const auto& [name, target] : tensors_of(to)) {
    if (const at::Tensor* source = counterpart(sources, name)) {
      copy(name, *source, target);
      continue;
    }
    const std::string layer = name.substr(0, name.rfind('.'));
    if (counterpart(sources, layer + ".running_mean")) {
      target.fill_(name.ends_with(".weight") ? 1 : 0);
    } else {
      alone.push_back(name);
    }
  }
  return alone;
}

}  // namespace nascent
