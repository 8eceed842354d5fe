#include "nascent/search/trace.h"

#include <algorithm>
#include <tuple>

namespace nascent {

const Trial* SearchTrace::incumbent_after(double seconds) const {
  const auto later = std::upper_bound(trials.begin(), trials.end(), seconds,
                                      [](double limit, const Trial& trial) { return limit < trial.seconds; });
  return later == trials.begin() ? nullptr : &trials[std::prev(later)->incumbent];
}

SearchTrace search(Strategy& strategy, Validation& validation, double seconds, size_t most) {
  SearchTrace trace;
  double clock = 0;
  while (trace.trials.size() < most) {
    const auto proposal = strategy.propose();
    if (!proposal) break;
    const Validated outcome = validation.validate(proposal->genotype, proposal->budget);
    if (clock + outcome.seconds > seconds) break;
    clock += outcome.seconds;
    strategy.tell(*proposal, outcome.accuracy);
    Trial trial{.proposal = *proposal, .accuracy = outcome.accuracy, .seconds = clock};
    trial.incumbent = trace.trials.size();
    if (const Trial* best = trace.incumbent()) {
      const bool better =
          std::tie(trial.proposal.budget, trial.accuracy) > std::tie(best->proposal.budget, best->accuracy);
      if (!better) trial.incumbent = trace.trials.back().incumbent;
    }
    trace.trials.push_back(std::move(trial));
  }
  return trace;
}

}  // namespace nascent
