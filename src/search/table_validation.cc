#include "nascent/search/table_validation.h"

#include <algorithm>
#include <cmath>

#include "nascent/core/error.h"

namespace nascent {

TableValidation::TableValidation(const BenchmarkTable& table, std::string data)
    : table_(table), data_(std::move(data)) {
  for (const Budget& budget : table.budgets(data_, "valid")) {
    columns_.emplace(budget, Columns{table.series({.data = data_, .quantity = "valid", .budget = budget}),
                                     TableCost(table, data_, budget)});
  }
  // Says which data sets there are.
  if (columns_.empty()) table.series({.data = data_, .quantity = "valid", .budget = Budget(1)});
}

Validated TableValidation::validate(const Genotype& genotype, const Budget& budget) {
  const auto columns = columns_.find(budget);
  if (columns == columns_.end()) table_.series({.data = data_, .quantity = "valid", .budget = budget});
  const size_t row = table_.row(genotype);
  const double accuracy = columns->second.accuracy.value(row);
  if (std::isnan(accuracy)) {
    fail("{} has no {} for {}.", table_.path().string(), columns->second.accuracy.measure().name(),
         table_.describe(row));
  }
  return {accuracy, columns->second.cost.at(row)};
}

std::vector<Budget> fidelities(const BenchmarkTable& table, const std::string& data, const Budget& budget) {
  std::vector<Budget> all = table.budgets(data, "valid"), within;
  std::copy_if(all.begin(), all.end(), std::back_inserter(within),
               [&](const Budget& known) { return known.epochs <= budget.epochs && known.of <= budget.of; });
  return within.size() > 1 ? within : all;
}

}  // namespace nascent
