#include "nascent/search/comparison.h"

#include <cmath>
#include <numeric>

#include "nascent/search/table_validation.h"

namespace nascent {

void ComparisonOptions::declare(OptionTable& table) {
  auto section = table.section("clock", "search, compare: what is validated, and for how long the search may go on.");
  section.add("data", data, "data set whose validation accuracy guides the search");
  section.add("epochs", epochs, "schedule after which architectures are validated, such as 12");
  section.add("budget", budget, "seconds on the table's clock").range(1, 1e12);
}

StrategySetting setting_for(const BenchmarkTable& table, const ComparisonOptions& options,
                            const StrategyOptions& strategy, uint64_t seed) {
  const Budget budget = parse_budget(options.epochs);
  table.series({.data = options.data, .quantity = "valid", .budget = budget});  // refuses what is not there
  return {.space = table.space(),
          .budget = budget,
          .fidelities = fidelities(table, options.data, budget),
          .options = strategy,
          .seed = seed};
}

SearchTrace search_table(const BenchmarkTable& table, const std::string& strategy, const ComparisonOptions& options,
                         const StrategyOptions& strategy_options, uint64_t seed) {
  const auto searcher =
      Strategy::Registry::instance().make(strategy, setting_for(table, options, strategy_options, seed));
  TableValidation validation(table, options.data);
  return search(*searcher, validation, options.budget);
}

Spread spread_of(const std::vector<double>& numbers) {
  if (numbers.empty()) return {NAN, NAN};
  const auto count = static_cast<double>(numbers.size());
  const double mean = std::accumulate(numbers.begin(), numbers.end(), 0.0) / count;
  double squares = 0;
  for (const double x : numbers) squares += (x - mean) * (x - mean);
  return {mean, numbers.size() > 1 ? std::sqrt(squares / (count - 1)) : 0};
}

std::vector<double> Contestant::values_after(double seconds, const BenchmarkTable& table,
                                             const TableSeries& series) const {
  std::vector<double> values;
  for (const SearchTrace& run : runs_) {
    const Trial* incumbent = run.incumbent_after(seconds);
    if (incumbent == nullptr) return {};
    values.push_back(series.value(table.row(incumbent->proposal.genotype)));
  }
  return values;
}

double Contestant::mean_trials() const {
  double sum = 0;
  for (const SearchTrace& run : runs_) sum += static_cast<double>(run.trials.size());
  return sum / static_cast<double>(runs_.size());
}

std::vector<Measure> test_measures(const BenchmarkTable& table) {
  std::vector<Measure> measures;
  for (const std::string& data : table.data_sets()) {
    const auto budgets = table.budgets(data, "test");
    if (!budgets.empty()) measures.push_back({.data = data, .quantity = "test", .budget = budgets.back()});
  }
  return measures;
}

}  // namespace nascent
