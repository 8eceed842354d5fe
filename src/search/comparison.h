// Strategies against one another: many runs of each on one table, against the same clock.
#pragma once

#include <string>
#include <vector>

#include "nascent/core/options.h"
#include "nascent/search/strategy.h"
#include "nascent/search/trace.h"
#include "nascent/table/benchmark_table.h"

namespace nascent {

struct ComparisonOptions {
  std::string data = "cifar10";
  std::string epochs = "12";
  double budget = 12000;

  void declare(OptionTable& table);  // section "clock"
};

// What a strategy is given to search a table with.
StrategySetting setting_for(const BenchmarkTable& table, const ComparisonOptions& options,
                            const StrategyOptions& strategy, uint64_t seed);
// One search. Architectures are chosen by validation accuracy alone.
SearchTrace search_table(const BenchmarkTable& table, const std::string& strategy, const ComparisonOptions& options,
                         const StrategyOptions& strategy_options, uint64_t seed);

struct Spread {
  double mean = 0, deviation = 0;  // of a sample; 0 for a single number
};
Spread spread_of(const std::vector<double>& numbers);

// All runs of one strategy.
class Contestant {
 public:
  Contestant(std::string name, std::vector<SearchTrace> runs) : name_(std::move(name)), runs_(std::move(runs)) {}

  const std::string& name() const { return name_; }
  const std::vector<SearchTrace>& runs() const { return runs_; }
  // A measure of what each run would have answered after so many seconds; empty where a run had nothing yet.
  std::vector<double> values_after(double seconds, const BenchmarkTable& table, const TableSeries& series) const;
  double mean_trials() const;

 private:
  std::string name_;
  std::vector<SearchTrace> runs_;
};

// Test accuracy after the longest schedule, for every data set that has one.
std::vector<Measure> test_measures(const BenchmarkTable& table);

}  // namespace nascent
