#include "nascent/search/one_shot/architecture_parameters.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "nascent/core/error.h"
#include "nascent/core/random.h"
#include "nascent/core/text.h"

namespace nascent {
namespace {

at::Tensor initial(at::IntArrayRef shape, const ArchitectureParametersOptions& options, const std::string& purpose,
                   int64_t choices) {
  at::Tensor values = at::empty(shape, at::kFloat);
  RandomStream random(options.seed, "architecture " + purpose);
  float* data = values.data_ptr<float>();
  for (int64_t i = 0; i < values.numel(); ++i) {
    data[i] = options.domain == Domain::logits ? static_cast<float>(options.spread * random.normal())
                                               : 1.0f / static_cast<float>(choices);
  }
  return values;
}

// Rows of the edge weights, grouped by the node they lead into (the cell's output last).
std::vector<std::vector<int>> edges_by_node(const CellChoices& cell) {
  std::vector<std::vector<int>> groups;
  const auto edges = Space::edges(cell);
  for (size_t i = 0; i < edges.size(); ++i) {
    if (i == 0 || edges[i].to != edges[i - 1].to) groups.emplace_back();
    groups.back().push_back(static_cast<int>(i));
  }
  return groups;
}

}  // namespace

std::vector<int64_t> excluded_indices(const std::vector<std::string>& names, const std::vector<std::string>& ops) {
  std::vector<int64_t> indices;
  for (const auto& name : names) {
    const auto it = std::find(ops.begin(), ops.end(), name);
    if (it == ops.end())
      fail("--exclude {}: the space has no such operation.{} It has {}.", name, suggestion(name, ops), join(ops, ", "));
    indices.push_back(it - ops.begin());
  }
  if (indices.size() >= ops.size()) fail("--exclude leaves no operation to choose from.");
  return indices;
}

ArchitectureParameters::ArchitectureParameters(const Space& space, const ArchitectureParametersOptions& options)
    : options_(options) {
  const auto ops = static_cast<int64_t>(space.ops().size());
  const auto excluded = excluded_indices(options.exclude, space.ops());
  for (const auto& choices : space.cells()) {
    Cell cell;
    cell.type = choices.type;
    cell.ops = initial({Space::sites(choices), ops}, options, choices.type + ".ops", ops);
    for (const int64_t op : excluded) cell.ops.select(1, op).fill_(options.domain == Domain::logits ? kNever : 0.0);
    if (options.domain == Domain::simplex) cell.ops.div_(cell.ops.sum(-1, /*keepdim=*/true));
    cell.ops.requires_grad_();
    if (options.weighted_edges || choices.ops_on_nodes) {
      cell.nodes = edges_by_node(choices);
      cell.edges = initial({static_cast<int64_t>(Space::edges(choices).size())}, options, choices.type + ".edges", 1);
      if (options.domain == Domain::simplex) {
        for (const auto& group : cell.nodes) {
          for (const int row : group) cell.edges[row] = 1.0 / static_cast<double>(group.size());
        }
      }
      cell.edges.requires_grad_();
    }
    cells_.push_back(std::move(cell));
  }
}

std::vector<at::Tensor> ArchitectureParameters::tensors() const {
  std::vector<at::Tensor> all;
  for (const auto& cell : cells_) {
    all.push_back(cell.ops);
    if (cell.edges.defined()) all.push_back(cell.edges);
  }
  return all;
}

at::Tensor ArchitectureParameters::edge_probabilities(const Cell& cell) const {
  if (!cell.edges.defined() || options_.domain == Domain::simplex) return cell.edges;
  std::vector<at::Tensor> parts;
  for (const auto& group : cell.nodes) {
    parts.push_back(cell.edges.narrow(0, group.front(), static_cast<int64_t>(group.size())).softmax(0));
  }
  return at::cat(parts);
}

Mixture ArchitectureParameters::probabilities() const {
  Mixture mixture;
  for (const auto& cell : cells_) {
    mixture[cell.type].ops = options_.domain == Domain::logits ? cell.ops.softmax(-1) : cell.ops;
    mixture[cell.type].edges = edge_probabilities(cell);
  }
  return mixture;
}

const ArchitectureParameters::Cell& ArchitectureParameters::cell(const std::string& type) const {
  return *std::find_if(cells_.begin(), cells_.end(), [&](const Cell& cell) { return cell.type == type; });
}

at::Tensor ArchitectureParameters::log_probabilities(const std::string& type) const {
  const at::Tensor& ops = cell(type).ops;
  // A wiped-out operation has probability 0; its logarithm must stay finite for the gradient's sake.
  return options_.domain == Domain::logits ? ops.log_softmax(-1) : ops.clamp_min(1e-20).log();
}

void ArchitectureParameters::normalise() {
  at::NoGradGuard no_grad;
  for (auto& cell : cells_) {
    cell.ops.div_(cell.ops.sum(-1, /*keepdim=*/true));
    for (const auto& group : cell.nodes) {
      at::Tensor edges = cell.edges.narrow(0, group.front(), static_cast<int64_t>(group.size()));
      edges.div_(edges.sum());
    }
  }
}

void ArchitectureParameters::save(State& state, const std::string& prefix) const {
  for (const auto& cell : cells_) {
    state.put(prefix + cell.type + ".ops", cell.ops);
    if (cell.edges.defined()) state.put(prefix + cell.type + ".edges", cell.edges);
  }
}

void ArchitectureParameters::load(const State& state, const std::string& prefix) {
  for (auto& cell : cells_) {
    state.copy_into(prefix + cell.type + ".ops", cell.ops);
    if (cell.edges.defined()) state.copy_into(prefix + cell.type + ".edges", cell.edges);
  }
}

double mean_entropy(const Mixture& probabilities) {
  double sum = 0;
  int64_t sites = 0;
  for (const auto& [type, cell] : probabilities) {
    const at::Tensor p = cell.ops.detach().to(at::kDouble).clamp_min(1e-300);
    sum -= (p * p.log()).sum().item<double>();
    sites += p.size(0);
  }
  return sites > 0 ? sum / static_cast<double>(sites) : 0;
}

}  // namespace nascent
