#include "nascent/ensemble/fairness.h"

#include <algorithm>
#include <numeric>

#include "nascent/core/chi_squared.h"

namespace nascent {
namespace {

double kept_probability(const EdgeGroup& group) {
  return static_cast<double>(group.keep) / static_cast<double>(group.rows.size());
}

// Sums of squares in units of their variance, and how many are free.
struct ChiSquared {
  double value = 0, freedom = 0;

  // Operations of one site, given how often it ran.
  void add_ops(const std::vector<int64_t>& counts) {
    const auto n = static_cast<double>(std::accumulate(counts.begin(), counts.end(), int64_t{0}));
    if (n == 0 || counts.size() < 2) return;
    const double expected = n / static_cast<double>(counts.size());
    for (const int64_t count : counts)
      value += (static_cast<double>(count) - expected) * (static_cast<double>(count) - expected) / expected;
    freedom += static_cast<double>(counts.size()) - 1;
  }

  // Which inputs a node kept. m of k drawn without replacement have the covariance p (1 - p) k / (k - 1) (I - 1/k), so
  // the sum of squares over p (1 - p) k / (k - 1) is chi-squared with k - 1 degrees.
  void add_inputs(const EdgeGroup& group, const std::vector<int64_t>& kept, int64_t steps) {
    if (!group.chooses()) return;
    const double p = kept_probability(group), k = static_cast<double>(kept.size()), n = static_cast<double>(steps);
    const double variance = n * p * (1 - p) * k / (k - 1);
    for (const int64_t count : kept)
      value += (static_cast<double>(count) - n * p) * (static_cast<double>(count) - n * p) / variance;
    freedom += k - 1;
  }
};

class CellCounter {
 public:
  CellCounter(const Space& space, const CellChoices& choices)
      : choices_(choices), ops_(genotype_op_indices(space)), groups_(edge_groups(choices)) {
    counts_.type = choices.type;
    counts_.counts.assign(static_cast<size_t>(Space::sites(choices)), std::vector<int64_t>(ops_.size()));
  }

  void add(const CellMixture& mixture) {
    for (size_t site = 0; site < counts_.counts.size(); ++site) {
      for (const int op : mixture.active[site]) {
        const auto column = std::find(ops_.begin(), ops_.end(), op);
        if (column != ops_.end()) ++counts_.counts[site][static_cast<size_t>(column - ops_.begin())];
      }
    }
  }

  CellCounts finish(int64_t steps, ChiSquared& chi) {
    const double per_op = static_cast<double>(steps) / static_cast<double>(ops_.size());
    counts_.expected.assign(counts_.counts.size(), per_op);
    for (const auto& row : counts_.counts) chi.add_ops(row);
    for (const EdgeGroup& group : groups_) {
      if (choices_.ops_on_nodes || group.node < 0) continue;
      std::vector<int64_t> kept;
      for (const int row : group.rows) {
        const auto& counts = counts_.counts[static_cast<size_t>(row)];
        kept.push_back(std::accumulate(counts.begin(), counts.end(), int64_t{0}));
        counts_.expected[static_cast<size_t>(row)] = per_op * kept_probability(group);
      }
      chi.add_inputs(group, kept, steps);
    }
    return counts_;
  }

 private:
  const CellChoices& choices_;
  std::vector<int> ops_;
  std::vector<EdgeGroup> groups_;
  CellCounts counts_;
};

}  // namespace

Fairness count_fairness(const Space& space, int64_t steps, const std::function<Mixture(int64_t)>& mixture) {
  std::vector<CellCounter> counters;
  for (const CellChoices& choices : space.cells()) counters.emplace_back(space, choices);
  for (int64_t step = 0; step < steps; ++step) {
    const Mixture weights = mixture(step);
    for (size_t i = 0; i < counters.size(); ++i) counters[i].add(weights.at(space.cells()[i].type));
  }
  Fairness fairness{steps, {}, 0, 0, 1};
  ChiSquared chi;
  for (CellCounter& counter : counters) fairness.cells.push_back(counter.finish(steps, chi));
  fairness.chi_squared = chi.value;
  fairness.freedom = chi.freedom;
  fairness.p_value = chi_squared_tail(chi.value, chi.freedom);
  return fairness;
}

Json Fairness::to_json(const Space& space) const {
  Json json = {{"steps", steps},
               {"ops", space.genotype_ops()},
               {"chi_squared", chi_squared},
               {"freedom", freedom},
               {"p_value", p_value}};
  for (const CellCounts& cell : cells) {
    json["cells"][cell.type] = {{"counts", cell.counts}, {"expected", cell.expected}};
  }
  return json;
}

}  // namespace nascent
