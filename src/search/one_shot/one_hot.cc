#include "nascent/search/one_shot/one_hot.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "nascent/core/error.h"

namespace nascent {
namespace {

class OneHotCell {
 public:
  OneHotCell(const Space& space, const CellChoices& choices, const CellGenotype& cell)
      : ops_(space.ops()), choices_(choices), cell_(cell), edges_(Space::edges(choices)) {
    const auto sites = static_cast<int64_t>(Space::sites(choices));
    mixture_.ops = at::zeros({sites, static_cast<int64_t>(ops_.size())});
    mixture_.active.resize(static_cast<size_t>(sites));
    if (choices.ops_on_nodes) mixture_.edges = at::zeros({static_cast<int64_t>(edges_.size())});
  }

  CellMixture mixture() {
    for (size_t row = 0; row < edges_.size(); ++row) {
      if (edges_[row].to < 0)
        set_output_edge(static_cast<int>(row));
      else
        set_edge(static_cast<int>(row));
    }
    if (choices_.ops_on_nodes) {
      for (size_t node = 0; node < cell_.nodes.size(); ++node) choose(static_cast<int>(node), cell_.nodes[node].op);
    }
    return mixture_;
  }

 private:
  void choose(int site, const std::string& op) {
    const auto it = std::find(ops_.begin(), ops_.end(), op);
    if (it == ops_.end()) fail("The genotype has the operation '{}', which the space does not know.", op);
    const int index = static_cast<int>(it - ops_.begin());
    mixture_.ops[site][index] += 1;  // an edge that is taken twice counts twice
    auto& active = mixture_.active[site];
    if (std::find(active.begin(), active.end(), index) == active.end()) active.push_back(index);
    std::sort(active.begin(), active.end());
  }

  void set_edge(int row) {
    const auto& node = cell_.nodes[static_cast<size_t>(edges_[row].to - choices_.inputs)];
    for (const auto& edge : node.edges) {
      if (edge.from != edges_[row].from) continue;
      if (choices_.ops_on_nodes)
        mixture_.edges[row] = 1;
      else
        choose(row, edge.op);
    }
  }

  void set_output_edge(int row) {
    const bool kept = std::find(cell_.output.begin(), cell_.output.end(), edges_[row].from) != cell_.output.end();
    if (kept && mixture_.edges.defined()) mixture_.edges[row] = 1;
  }

  const std::vector<std::string>& ops_;
  const CellChoices& choices_;
  const CellGenotype& cell_;
  std::vector<CandidateEdge> edges_;
  CellMixture mixture_;
};

}  // namespace

Mixture one_hot(const Space& space, const Genotype& genotype) {
  Mixture mixture;
  for (const auto& choices : space.cells()) {
    mixture[choices.type] = OneHotCell(space, choices, genotype.cell(choices.type)).mixture();
  }
  return mixture;
}

}  // namespace nascent
