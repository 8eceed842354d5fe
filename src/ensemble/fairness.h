// How evenly a supernet's candidates were trained (thesis, B.1): how often each operation of each edge ran, beside what
// uniform draws lead one to expect.
#pragma once

#include <functional>

#include "nascent/core/options.h"
#include "nascent/nn/mixture.h"
#include "nascent/search/architecture_code.h"

namespace nascent {

struct CellCounts {
  std::string type{};
  std::vector<std::vector<int64_t>> counts{};  // [sites][operations that genotypes may hold]
  std::vector<double> expected{};              // per site: steps * P(kept) / |O|
};

struct Fairness {
  int64_t steps = 0;
  std::vector<CellCounts> cells{};
  double chi_squared = 0, freedom = 0, p_value = 1;
  Json to_json(const Space& space) const;
};

// Counts what `mixture(step)` lets run. Sampling is counter-based, so the steps of a search that is over are drawn
// again.
Fairness count_fairness(const Space& space, int64_t steps, const std::function<Mixture(int64_t step)>& mixture);

}  // namespace nascent
