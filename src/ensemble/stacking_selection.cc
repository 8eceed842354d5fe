// Stacking: weights of the members that minimise the loss of their weighted average, found by expectation maximisation,
// which never raises it. The members with the largest weights are kept and weighed once more.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "nascent/ensemble/selection.h"

namespace nascent {
namespace {

struct Weighing {
  std::vector<double> weights{};
  double loss = 0;
  int64_t passes = 0;
};

Weighing weigh(const SelectionPool& pool, const std::vector<size_t>& members) {
  const auto images = static_cast<size_t>(pool.images());
  Weighing result{std::vector<double>(members.size(), 1.0 / static_cast<double>(members.size())), 0, 0};
  double before = std::numeric_limits<double>::infinity();
  for (int i = 0; i < 1000; ++i) {
    std::vector<double> mixed(images, 0.0), next(members.size(), 0.0);
    for (size_t m = 0; m < members.size(); ++m) {
      const auto& truth = pool.truth(members[m]);
      for (size_t j = 0; j < images; ++j) mixed[j] += result.weights[m] * truth[j];
    }
    result.loss = 0;
    for (double& p : mixed) {
      p = std::max(p, kLeastProbability);
      result.loss -= std::log(p) / static_cast<double>(images);
    }
    ++result.passes;
    if (before - result.loss < 1e-9) break;
    before = result.loss;
    for (size_t m = 0; m < members.size(); ++m) {
      const auto& truth = pool.truth(members[m]);
      for (size_t j = 0; j < images; ++j) next[m] += truth[j] / mixed[j];
      next[m] *= result.weights[m] / static_cast<double>(images);
    }
    const double sum = std::accumulate(next.begin(), next.end(), 0.0);
    for (double& weight : next) weight /= sum;
    result.weights = std::move(next);
  }
  return result;
}

Selected stacking(const SelectionSetup& setup) {
  std::vector<size_t> all(setup.pool.size());
  std::iota(all.begin(), all.end(), 0);
  const Weighing whole = weigh(setup.pool, all);
  std::stable_sort(all.begin(), all.end(), [&](size_t a, size_t b) { return whole.weights[a] > whole.weights[b]; });
  all.resize(static_cast<size_t>(setup.size));
  const Weighing kept = weigh(setup.pool, all);
  return {all, kept.weights, kept.loss, whole.passes + kept.passes};
}

NASCENT_REGISTER(Selection, "stacking", "weights that minimise the loss, of the members that get the largest", stacking,
                 SelectionFacts{.logits = false});

}  // namespace
}  // namespace nascent
