// Forward selection (Caruana et al. 2004): the member that helps most, again and again.
#include <algorithm>
#include <limits>

#include "nascent/ensemble/selection.h"

namespace nascent {
namespace {

Selected forward(const SelectionSetup& setup, bool replacement) {
  RunningEnsemble ensemble(setup.pool);
  Selected result;
  std::vector<bool> used(setup.pool.size());
  for (int i = 0; i < setup.size; ++i) {
    size_t best = 0;
    double lowest = std::numeric_limits<double>::infinity();
    for (size_t candidate = 0; candidate < setup.pool.size(); ++candidate) {
      if (used[candidate] && !replacement) continue;
      const double loss = ensemble.loss_with(candidate);
      ++result.judged;
      if (loss < lowest) {
        lowest = loss;
        best = candidate;
      }
    }
    used[best] = true;
    ensemble.add(best);
    result.loss = lowest;
  }
  result.members = ensemble.members();
  return result;
}

NASCENT_REGISTER(Selection, "forward", "the member that lowers the loss most, again and again, each once (NES)",
                 [](const SelectionSetup& setup) { return forward(setup, false); });
NASCENT_REGISTER(Selection, "forward-with-replacement",
                 "as forward, but a member may come again and so gets more weight (Caruana et al. 2004)",
                 [](const SelectionSetup& setup) { return forward(setup, true); });

}  // namespace
}  // namespace nascent
