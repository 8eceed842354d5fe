#include "nascent/search/table_judge.h"

#include <algorithm>
#include <cmath>

#include "nascent/core/error.h"
#include "nascent/search/problem.h"

namespace nascent {

TableJudge::TableJudge(const BenchmarkTable& table, std::string data, const Budget& budget)
    : table_(table), data_(std::move(data)), budget_(budget) {
  table.series({.data = data_, .quantity = "valid", .budget = budget});  // says what there is where it is not there
  for (const Budget& known : table.budgets(data_, "valid")) {
    columns_.emplace(known, Columns{table.series({.data = data_, .quantity = "valid", .budget = known}),
                                    TableCost(table, data_, known)});
  }
}

Judgement TableJudge::judge_anew(const Genotype& genotype, const Budget& budget) {
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

std::vector<Budget> TableJudge::fidelities() const { return nascent::fidelities(table_, data_, budget_); }

std::vector<Budget> fidelities(const BenchmarkTable& table, const std::string& data, const Budget& budget) {
  std::vector<Budget> all = table.budgets(data, "valid"), within;
  std::copy_if(all.begin(), all.end(), std::back_inserter(within),
               [&](const Budget& known) { return known.epochs <= budget.epochs && known.of <= budget.of; });
  return within.size() > 1 ? within : all;
}

namespace {

std::unique_ptr<Judge> make_table_judge(const Problem& problem) {
  const JudgeOptions& options = problem.options().judging;
  if (problem.table() == nullptr) {
    fail("--judge table: --table FILE, a benchmark's table, is missing ('nascent table import' makes one).");
  }
  return std::make_unique<TableJudge>(*problem.table(), options.data, parse_budget(options.schedule));
}

NASCENT_REGISTER(Judge, "table",
                 "looks up validation accuracies in a benchmark's table (--table), and charges its time",
                 make_table_judge, JudgeFacts{.clock = true, .table = true});

}  // namespace
}  // namespace nascent
