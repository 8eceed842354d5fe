#include "nascent/search/discretisation.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "nascent/core/error.h"

namespace nascent {
namespace {

using Row = std::vector<double>;

std::vector<Row> rows(const at::Tensor& tensor) {
  if (!tensor.defined()) return {};
  const at::Tensor values = tensor.detach().to(at::kCPU, at::kDouble).contiguous();
  const int64_t width = values.dim() > 1 ? values.size(1) : 1;
  std::vector<Row> all;
  for (int64_t i = 0; i < values.size(0); ++i) {
    const double* start = values.data_ptr<double>() + i * width;
    all.emplace_back(start, start + width);
  }
  return all;
}

// Derives one cell: the strongest operation of every site, and of every node the `keep` strongest edges.
class CellDeriver {
 public:
  CellDeriver(const Space& space, const CellChoices& cell, const CellMixture& probabilities, bool use_edge_weights)
      : ops_(space.ops()), cell_(cell), sites_(rows(probabilities.ops)), edges_(rows(probabilities.edges)) {
    for (const auto& op : ops_) allowed_.push_back(contains(space.genotype_ops(), op));
    use_edge_weights_ = use_edge_weights && !edges_.empty();
  }

  CellGenotype derive() {
    CellGenotype result{cell_.type, cell_.inputs, {}, cell_.output};
    for (size_t node = 0; node < cell_.nodes.size(); ++node)
      result.nodes.push_back(derive_node(static_cast<int>(node)));
    if (cell_.output_keep > 0) result.output = derive_output();
    return result;
  }

 private:
  struct Ranked {
    int state = 0, site = -1;
    double score = 0;
  };

  static bool contains(const std::vector<std::string>& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  }

  int strongest(int site) const {
    int best = -1;
    for (int op = 0; op < static_cast<int>(ops_.size()); ++op) {
      if (!allowed_[op]) continue;
      if (best < 0 || sites_[site][op] > sites_[site][best]) best = op;
    }
    return best;
  }

  // The strength of a candidate edge: its own weight, its best operation's, or both.
  double score(int row) const {
    const double edge = edges_.empty() ? 1 : edges_[row][0];
    if (cell_.ops_on_nodes) return edge;
    const double op = sites_[row][strongest(row)];
    return use_edge_weights_ ? edge * op : op;
  }

  static std::vector<Ranked> best(std::vector<Ranked> candidates, int keep) {
    std::stable_sort(candidates.begin(), candidates.end(),
                     [](const Ranked& a, const Ranked& b) { return a.score > b.score; });
    candidates.resize(std::min<size_t>(keep, candidates.size()));
    std::sort(candidates.begin(), candidates.end(), [](const Ranked& a, const Ranked& b) { return a.state < b.state; });
    return candidates;
  }

  GenotypeNode derive_node(int node) {
    const auto& choices = cell_.nodes[node];
    std::vector<Ranked> candidates;
    for (const int input : choices.inputs) {
      candidates.push_back({input, row_, score(row_)});
      ++row_;
    }
    GenotypeNode result;
    for (const auto& kept : best(candidates, choices.keep)) {
      result.edges.push_back({kept.state, cell_.ops_on_nodes ? "skip_connect" : ops_[strongest(kept.site)]});
    }
    if (cell_.ops_on_nodes) result.op = ops_[strongest(node)];
    return result;
  }

  std::vector<int> derive_output() {
    std::vector<Ranked> candidates;
    for (const int state : cell_.output) {
      candidates.push_back({state, row_, edges_[row_][0]});
      ++row_;
    }
    std::vector<int> states;
    for (const auto& kept : best(candidates, cell_.output_keep)) states.push_back(kept.state);
    return states;
  }

  const std::vector<std::string>& ops_;
  const CellChoices& cell_;
  std::vector<Row> sites_, edges_;
  std::vector<bool> allowed_;  // per operation: may a genotype contain it
  bool use_edge_weights_ = false;
  int row_ = 0;  // next candidate edge
};

}  // namespace

Genotype strongest_genotype(const Space& space, const Mixture& probabilities, bool use_edge_weights) {
  Genotype genotype{space.name(), {}};
  for (const auto& cell : space.cells()) {
    genotype.cells.push_back(CellDeriver(space, cell, probabilities.at(cell.type), use_edge_weights).derive());
  }
  space.validate(genotype);
  return genotype;
}

Genotype sample_genotype(const Space& space, const Mixture& probabilities, RandomStream random) {
  const auto perturb = [&](const at::Tensor& values) {
    at::Tensor result = values.detach().to(at::kCPU, at::kDouble).contiguous().clone();
    double* data = result.data_ptr<double>();
    for (int64_t i = 0; i < result.numel(); ++i) data[i] /= -std::log(1 - random.uniform());
    return result;
  };
  Mixture perturbed;
  for (const auto& cell : space.cells()) {
    const auto& given = probabilities.at(cell.type);
    perturbed[cell.type].ops = perturb(given.ops);
    if (given.edges.defined()) perturbed[cell.type].edges = perturb(given.edges);
  }
  return strongest_genotype(space, perturbed, /*use_edge_weights=*/true);
}

namespace {

Genotype best_of_samples(const DiscretisationSetup& setup) {
  Genotype best = setup.sample(0);
  double best_accuracy = setup.shared_accuracy(best);
  for (int i = 1; i < setup.samples; ++i) {
    Genotype candidate = setup.sample(static_cast<uint64_t>(i));
    const double accuracy = setup.shared_accuracy(candidate);
    if (accuracy > best_accuracy) {
      best = std::move(candidate);
      best_accuracy = accuracy;
    }
  }
  return best;
}

NASCENT_REGISTER(
    Discretisation, "strongest",
    "best operation per site, then the strongest edges of each node by that operation (DARTS, NAS-Bench-201, PR-DARTS)",
    [](const DiscretisationSetup& setup) { return strongest_genotype(setup.space, setup.probabilities); });
NASCENT_REGISTER(Discretisation, "edge-weighted",
                 "as strongest, with edges ranked by edge weight times operation weight (PC-DARTS)",
                 [](const DiscretisationSetup& setup) {
                   return strongest_genotype(setup.space, setup.probabilities, true);
                 });
NASCENT_REGISTER(Discretisation, "best-sample",
                 "the best of some samples by accuracy with shared weights (RS-WS, ENAS)", best_of_samples);

}  // namespace
}  // namespace nascent
