// The members that are best by themselves.
#include <algorithm>
#include <numeric>

#include "nascent/ensemble/selection.h"

namespace nascent {
namespace {

Selected top(const SelectionSetup& setup) {
  const RunningEnsemble nobody(setup.pool);
  std::vector<double> losses;
  for (size_t i = 0; i < setup.pool.size(); ++i) losses.push_back(nobody.loss_with(i));
  std::vector<size_t> order(losses.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return losses[a] < losses[b]; });
  RunningEnsemble ensemble(setup.pool);
  for (int i = 0; i < setup.size; ++i) ensemble.add(order[static_cast<size_t>(i)]);
  return {ensemble.members(), {}, ensemble.loss(), static_cast<int64_t>(losses.size()) + 1};
}

NASCENT_REGISTER(Selection, "top", "the members with the lowest losses of their own", top);

}  // namespace
}  // namespace nascent
