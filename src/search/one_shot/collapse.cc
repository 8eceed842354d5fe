#include "nascent/search/one_shot/collapse.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "nascent/core/text.h"

namespace nascent {
namespace {

constexpr double kLead = 1e-6;  // a favourite is at least so much more probable than the next

bool has_favourites(const Space& space, const at::Tensor& probabilities) {
  std::vector<int64_t> allowed;
  for (size_t i = 0; i < space.ops().size(); ++i) {
    const auto& may = space.genotype_ops();
    if (std::find(may.begin(), may.end(), space.ops()[i]) != may.end()) allowed.push_back(static_cast<int64_t>(i));
  }
  if (allowed.size() < 2) return false;
  const at::Tensor known = probabilities.detach().to(at::kDouble).index_select(1, at::tensor(allowed));
  const at::Tensor best = std::get<0>(known.topk(2, 1));
  return (best.select(1, 0) - best.select(1, 1)).min().item<double>() > kLead;
}

std::vector<std::string> operations(const CellGenotype& cell, bool on_nodes) {
  std::vector<std::string> ops;
  for (const auto& node : cell.nodes) {
    if (on_nodes) ops.push_back(node.op);
    for (const auto& edge : node.edges) {
      if (!on_nodes) ops.push_back(edge.op);
    }
  }
  return ops;
}

std::string cell_name(const CollapsedCell& cell) { return cell.type == "cell" ? "cell" : cell.type + " cell"; }

}  // namespace

std::vector<CollapsedCell> collapsed_cells(const Space& space, const Genotype& genotype, const Mixture& probabilities) {
  std::vector<CollapsedCell> collapsed;
  for (const auto& choices : space.cells()) {
    const auto ops = operations(genotype.cell(choices.type), choices.ops_on_nodes);
    const bool same = ops.size() > 1 && std::count(ops.begin(), ops.end(), ops.front()) == std::ssize(ops);
    if (!same || !has_favourites(space, probabilities.at(choices.type).ops)) continue;
    collapsed.push_back({choices.type, ops.front(), choices.ops_on_nodes});
  }
  return collapsed;
}

std::string describe(const std::vector<CollapsedCell>& cells) {
  std::vector<std::string> sentences;
  std::vector<bool> told(cells.size(), false);
  for (size_t i = 0; i < cells.size(); ++i) {
    if (told[i]) continue;
    std::vector<std::string> names;
    for (size_t k = i; k < cells.size(); ++k) {
      if (cells[k].op != cells[i].op) continue;
      told[k] = true;
      names.push_back(cell_name(cells[k]));
    }
    sentences.push_back(fmt::format("every {} of the {} is {}", cells[i].on_nodes ? "node" : "edge",
                                    join(names, " and the "), cells[i].op));
  }
  return join(sentences, "; ");
}

}  // namespace nascent
