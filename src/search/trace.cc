#include "nascent/search/trace.h"

#include <algorithm>
#include <tuple>

namespace nascent {

const Trial* SearchTrace::incumbent_after(double seconds) const {
  const auto later = std::upper_bound(trials.begin(), trials.end(), seconds,
                                      [](double limit, const Trial& trial) { return limit < trial.seconds; });
  return later == trials.begin() ? nullptr : &trials[std::prev(later)->incumbent];
}

void SearchTrace::add(Trial trial) {
  trial.incumbent = trials.size();
  if (const Trial* best = incumbent()) {
    const bool better =
        std::tie(trial.proposal.budget, trial.accuracy) > std::tie(best->proposal.budget, best->accuracy);
    if (!better) trial.incumbent = trials.back().incumbent;
  }
  trials.push_back(std::move(trial));
}

SearchTrace search(Strategy& strategy, Judge& judge, double seconds, size_t most) {
  SearchTrace trace;
  double clock = 0;
  while (trace.trials.size() < most) {
    const auto proposal = strategy.propose();
    if (!proposal) break;
    const Judgement outcome = judge.judge(proposal->genotype, proposal->budget);
    if (clock + outcome.seconds > seconds) break;
    clock += outcome.seconds;
    strategy.tell(*proposal, outcome.accuracy);
    trace.add({.proposal = *proposal, .accuracy = outcome.accuracy, .seconds = clock});
  }
  return trace;
}

SearchTrace trace_of(const Json& trials, const std::string& space) {
  SearchTrace trace;
  for (const auto& trial : trials) {
    if (!trial.at("valid").is_number()) continue;  // a metric that was not finite
    trace.add({.proposal = {parse_genotype(trial.at("architecture").get<std::string>(), "", space),
                            parse_budget(trial.at("epochs").get<std::string>())},
               .accuracy = trial.at("valid").get<double>(),
               .seconds = trial.at("seconds").get<double>()});
  }
  return trace;
}

}  // namespace nascent
