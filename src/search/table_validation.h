// Validation by looking up: a benchmark's validation accuracy, at the price of the training that gave it.
#pragma once

#include <map>
#include <string>

#include "nascent/search/validation.h"
#include "nascent/table/benchmark_table.h"

namespace nascent {

class TableValidation : public Validation {
 public:
  // The table must outlive it. An Error where the table has no validation accuracies or no times for the data set.
  TableValidation(const BenchmarkTable& table, std::string data);

  Validated validate(const Genotype& genotype, const Budget& budget) override;

 private:
  struct Columns {
    TableSeries accuracy;
    TableCost cost;
  };

  const BenchmarkTable& table_;
  std::string data_;
  std::map<Budget, Columns> columns_;
};

// What a search over several budgets (BOHB) may ask a table for: validation accuracies after at most `budget`'s epochs
// or, where there is but that one, after any number that the table has.
std::vector<Budget> fidelities(const BenchmarkTable& table, const std::string& data, const Budget& budget);

}  // namespace nascent
