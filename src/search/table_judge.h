// Judging by looking up: a benchmark's validation accuracy, at the price of the training that gave it.
#pragma once

#include <map>
#include <string>

#include "nascent/search/judge.h"
#include "nascent/table/benchmark_table.h"

namespace nascent {

class TableJudge : public Judge {
 public:
  // The table must outlive it. An Error where the table has no validation accuracies or no times for the data set, or
  // none after `budget`.
  TableJudge(const BenchmarkTable& table, std::string data, const Budget& budget);

  Judgement judge_anew(const Genotype& genotype, const Budget& budget) override;
  Budget budget() const override { return budget_; }
  std::vector<Budget> fidelities() const override;

 private:
  struct Columns {
    TableSeries accuracy;
    TableCost cost;
  };

  const BenchmarkTable& table_;
  std::string data_;
  Budget budget_;
  std::map<Budget, Columns> columns_;
};

// What a search over several budgets (BOHB) may ask a table for: validation accuracies after at most `budget`'s epochs
// or, where there is but that one, after any number that the table has.
std::vector<Budget> fidelities(const BenchmarkTable& table, const std::string& data, const Budget& budget);

}  // namespace nascent
