#include "nascent/search/discretisation.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "nascent/core/error.h"
#include "nascent/space/cell_space.h"

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

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Per operation of the space: may a genotype have it?
std::vector<bool> allowed_ops(const Space& space) {
  std::vector<bool> allowed;
  for (const auto& op : space.ops()) allowed.push_back(contains(space.genotype_ops(), op));
  return allowed;
}

// Derives one cell from logarithms of strengths.
class CellDeriver {
 public:
  CellDeriver(const Space& space, const CellChoices& cell, const CellMixture& logs, EdgeRanking ranking)
      : ops_(space.ops()),
        cell_(cell),
        sites_(rows(logs.ops)),
        edges_(rows(logs.edges)),
        allowed_(allowed_ops(space)),
        ranking_(ranking) {}

  CellGenotype derive() {
    CellGenotype result{cell_.type, cell_.inputs, {}, cell_.output};
    for (size_t node = 0; node < cell_.nodes.size(); ++node) {
      const int first_row = row_;
      row_ += static_cast<int>(cell_.nodes[node].inputs.size());
      result.nodes.push_back(derive_node(static_cast<int>(node), first_row));
    }
    if (cell_.output_keep > 0) result.output = derive_output();
    if (cell_.loose_output) result.output = loose_ends(result);
    return result;
  }

 private:
  struct Ranked {
    int state = 0, op = -1;
    double score = 0;
  };

  int strongest(int site) const {
    int best = -1;
    for (int op = 0; op < static_cast<int>(ops_.size()); ++op) {
      if (!allowed_[op]) continue;
      if (best < 0 || sites_[site][op] > sites_[site][best]) best = op;
    }
    return best;
  }

  double score(int row) const {
    const double edge = edges_.empty() ? 0 : edges_[row][0];
    if (cell_.ops_on_nodes || ranking_ == EdgeRanking::edge) return edge;
    const double op = sites_[row][strongest(row)];
    return ranking_ == EdgeRanking::edge_and_operation ? edge + op : op;
  }

  static void strongest_first(std::vector<Ranked>& candidates) {
    std::stable_sort(candidates.begin(), candidates.end(),
                     [](const Ranked& a, const Ranked& b) { return a.score > b.score; });
  }

  static std::vector<Ranked> by_state(std::vector<Ranked> kept) {
    std::stable_sort(kept.begin(), kept.end(), [](const Ranked& a, const Ranked& b) { return a.state < b.state; });
    return kept;
  }

  static std::vector<Ranked> best(std::vector<Ranked> candidates, int keep) {
    strongest_first(candidates);
    candidates.resize(std::min<size_t>(keep, candidates.size()));
    return by_state(std::move(candidates));
  }

  std::vector<Ranked> best_edges(const NodeChoices& choices, int row) const {
    std::vector<Ranked> candidates;
    for (const int input : choices.inputs) {
      candidates.push_back({input, cell_.ops_on_nodes ? -1 : strongest(row), score(row)});
      ++row;
    }
    return best(std::move(candidates), choices.keep);
  }

  // The best operations of all inputs together; where the space lets a node take an input only once, of different ones.
  std::vector<Ranked> best_operations(const NodeChoices& choices, int row) const {
    std::vector<Ranked> candidates, kept;
    for (const int input : choices.inputs) {
      for (int op = 0; op < static_cast<int>(ops_.size()); ++op) {
        if (allowed_[op]) candidates.push_back({input, op, sites_[row][op]});
      }
      ++row;
    }
    strongest_first(candidates);
    for (const Ranked& candidate : candidates) {
      if (static_cast<int>(kept.size()) == choices.keep) break;
      const bool taken =
          std::any_of(kept.begin(), kept.end(), [&](const Ranked& other) { return other.state == candidate.state; });
      if (!taken || cell_.repeat_inputs) kept.push_back(candidate);
    }
    return by_state(std::move(kept));
  }

  GenotypeNode derive_node(int node, int first_row) const {
    const auto& choices = cell_.nodes[node];
    const bool operations = ranking_ == EdgeRanking::operations && !cell_.ops_on_nodes;
    GenotypeNode result;
    for (const auto& kept : operations ? best_operations(choices, first_row) : best_edges(choices, first_row)) {
      result.edges.push_back({kept.state, kept.op < 0 ? "skip_connect" : ops_[kept.op]});
    }
    if (cell_.ops_on_nodes) result.op = ops_[strongest(node)];
    return result;
  }

  std::vector<int> derive_output() {
    std::vector<Ranked> candidates;
    for (const int state : cell_.output) {
      candidates.push_back({state, -1, edges_[row_][0]});
      ++row_;
    }
    std::vector<int> states;
    for (const auto& kept : best(std::move(candidates), cell_.output_keep)) states.push_back(kept.state);
    return states;
  }

  const std::vector<std::string>& ops_;
  const CellChoices& cell_;
  std::vector<Row> sites_, edges_;
  std::vector<bool> allowed_;
  EdgeRanking ranking_;
  int row_ = 0;  // next candidate edge
};

at::Tensor in_double(const at::Tensor& values) { return values.detach().to(at::kCPU, at::kDouble); }

// The argmax after adding Gumbel noise to logarithms is a draw in proportion, the best k are k draws without
// replacement.
at::Tensor perturbed(const at::Tensor& probabilities, RandomStream& random) {
  at::Tensor result = in_double(probabilities).log().contiguous();
  double* data = result.data_ptr<double>();
  for (int64_t i = 0; i < result.numel(); ++i) data[i] -= std::log(-std::log(1 - random.uniform()));
  return result;
}

// Per site the probability of all operations that a genotype may have.
at::Tensor edge_probabilities(const Space& space, const at::Tensor& ops) {
  const auto allowed = allowed_ops(space);
  at::Tensor sum = at::zeros({ops.size(0)}, at::kDouble);
  for (size_t op = 0; op < allowed.size(); ++op) {
    if (allowed[op]) sum = sum + in_double(ops).select(1, static_cast<int64_t>(op));
  }
  return sum;
}

}  // namespace

Genotype strongest_genotype(const Space& space, const Mixture& log_strengths, EdgeRanking ranking) {
  Genotype genotype{space.name(), {}};
  for (const auto& cell : space.cells()) {
    genotype.cells.push_back(CellDeriver(space, cell, log_strengths.at(cell.type), ranking).derive());
    if (cell.loose_output) genotype.cells.back().output = loose_ends(genotype.cells.back());
  }
  space.validate(genotype);
  return genotype;
}

Genotype strongest_genotype(const Space& space, const Mixture& probabilities, bool use_edge_weights) {
  Mixture logs;
  for (const auto& [type, cell] : probabilities) {
    logs[type].ops = in_double(cell.ops).log();
    if (cell.edges.defined()) logs[type].edges = in_double(cell.edges).log();
  }
  return strongest_genotype(space, logs, use_edge_weights ? EdgeRanking::edge_and_operation : EdgeRanking::operation);
}

Genotype sample_genotype(const Space& space, const Mixture& probabilities, RandomStream random) {
  Mixture logs;
  for (const auto& cell : space.cells()) {
    const auto& given = probabilities.at(cell.type);
    logs[cell.type].ops = perturbed(given.ops, random);
    logs[cell.type].edges =
        perturbed(given.edges.defined() ? given.edges : edge_probabilities(space, given.ops), random);
  }
  return strongest_genotype(space, logs, EdgeRanking::edge);
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

Genotype strongest(const DiscretisationSetup& setup, EdgeRanking ranking) {
  return strongest_genotype(setup.space, setup.log_strengths, ranking);
}

NASCENT_REGISTER(
    Discretisation, "strongest",
    "best operation per site, then the strongest edges of each node by that operation (DARTS, NAS-Bench-201)",
    [](const DiscretisationSetup& setup) { return strongest(setup, EdgeRanking::operation); }, DiscretisationFacts{});
NASCENT_REGISTER(
    Discretisation, "edge-weighted", "as strongest, with edges ranked by edge weight times operation weight (PC-DARTS)",
    [](const DiscretisationSetup& setup) { return strongest(setup, EdgeRanking::edge_and_operation); },
    DiscretisationFacts{.ranking = EdgeRanking::edge_and_operation});
NASCENT_REGISTER(
    Discretisation, "strongest-operations",
    "the best operations of each node, whichever inputs they read; one per input unless the space allows more "
    "(PR-DARTS)",
    [](const DiscretisationSetup& setup) { return strongest(setup, EdgeRanking::operations); },
    DiscretisationFacts{.ranking = EdgeRanking::operations});
NASCENT_REGISTER(Discretisation, "best-sample",
                 "the best of some samples by accuracy with shared weights (RS-WS, ENAS)", best_of_samples,
                 DiscretisationFacts{.ranks = false, .reads = {"search.samples"}});

}  // namespace
}  // namespace nascent
