#include "nascent/cli/trained_search.h"

#include <limits>

#include "nascent/core/error.h"
#include "nascent/score/score_cache.h"

namespace nascent {

void TrainedSearchOptions::declare(OptionTable& table) {
  auto section = table.section("score", "");
  section.add("validations", validations, "searches by a strategy: architectures that are trained").range(1, 1e6);
  section.add("lookup", lookup,
              "searches by a strategy: benchmark table that says what training would give, for the data set of "
              "--measure after --epochs; empty: they are trained");
  train.declare(table);
  strategy.declare(table);
}

std::vector<Budget> schedules_up_to(int epochs) {
  std::vector<Budget> budgets;
  for (const int part : {9, 3, 1}) {
    if (epochs / part > 0) budgets.emplace_back(epochs / part);
  }
  return budgets;
}

std::unique_ptr<Strategy> make_strategy(const std::string& name, const std::shared_ptr<const Space>& space,
                                        const TrainedSearchOptions& options, const std::vector<Budget>& fidelities,
                                        uint64_t seed) {
  return Strategy::Registry::instance().make(name, StrategySetting{.space = space,
                                                                   .budget = Budget(options.train.epochs),
                                                                   .fidelities = fidelities,
                                                                   .options = options.strategy,
                                                                   .seed = seed});
}

SearchTrace search_by_training(Strategy& strategy, Validation& validation, const TrainedSearchOptions& options) {
  SearchTrace trace =
      search(strategy, validation, std::numeric_limits<double>::infinity(), static_cast<size_t>(options.validations));
  if (trace.trials.empty()) fail("The strategy found nothing to validate.");
  return trace;
}

Json report_trials(const Invocation& invocation, const SearchTrace& trace) {
  Json trials = Json::array();
  invocation.print(fmt::format("{:>6} {:>10} {:>8} {:>8}  {}", "trial", "seconds", "epochs", "valid", "new best"));
  for (size_t i = 0; i < trace.trials.size(); ++i) {
    const Trial& trial = trace.trials[i];
    const std::string architecture = ScoreCache::key(trial.proposal.genotype);
    trials.push_back({{"seconds", trial.seconds},
                      {"epochs", trial.proposal.budget.text()},
                      {"valid", trial.accuracy},
                      {"architecture", architecture}});
    if (trial.incumbent != i) continue;
    invocation.print(fmt::format("{:>6} {:>10.0f} {:>8} {:>8.2f}  {}", i + 1, trial.seconds,
                                 trial.proposal.budget.text(), trial.accuracy, architecture));
  }
  return trials;
}

}  // namespace nascent
