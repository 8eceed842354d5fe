// Searches by the strategies of table/strategy.h in which what they propose is trained for a few epochs, or looked up
// where a table has the outcome.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "nascent/cli/verb.h"
#include "nascent/search/strategy.h"
#include "nascent/search/trace.h"
#include "nascent/train/trainer.h"

namespace nascent {

struct TrainedSearchOptions {
  int validations = 25;  // 25 of 10 epochs each are HNAS's in the DARTS space (thesis 7.5.4)
  std::string lookup;    // table of the outcomes; "": they are trained
  TrainOptions train;
  StrategyOptions strategy;

  TrainedSearchOptions() { train.epochs = 10; }
  void declare(OptionTable& table);
};

// Whole schedules of a ninth, a third and all of the epochs: what BOHB may choose among.
std::vector<Budget> schedules_up_to(int epochs);

std::unique_ptr<Strategy> make_strategy(const std::string& name, const std::shared_ptr<const Space>& space,
                                        const TrainedSearchOptions& options, const std::vector<Budget>& fidelities,
                                        uint64_t seed);

// Everything is chosen by the seed and the outcomes, so a search whose outcomes are known goes the same way again. An
// Error where the strategy proposes nothing.
SearchTrace search_by_training(Strategy& strategy, Validation& validation, const TrainedSearchOptions& options);

// Prints each new best for people; returns all trials.
Json report_trials(const Invocation& invocation, const SearchTrace& trace);

}  // namespace nascent
