#include "nascent/table/table_rank.h"

#include <cmath>
#include <set>

#include "nascent/core/error.h"

namespace nascent {

namespace {

std::optional<double> value_of(const BenchmarkTable& table, const Measure& measure, size_t row) {
  if (!table.has(measure)) return std::nullopt;
  const double value = table.series(measure).value(row);
  return std::isnan(value) ? std::nullopt : std::optional(value);
}

TableRank rank_in(const BenchmarkTable& table, size_t row, const std::string& data, const Budget& budget) {
  const Measure valid{.data = data, .quantity = "valid", .budget = budget};
  const Measure test{.data = data, .quantity = "test", .budget = budget};
  TableRank found{.data = data, .budget = budget};
  found.valid = value_of(table, valid, row);
  found.test = value_of(table, test, row);
  if (!table.budgets(data, "train_seconds").empty()) found.seconds = TableCost(table, data, budget).at(row);
  if (found.test || found.valid) {
    const TableSeries judged = table.series(found.test ? test : valid);
    found.rank = judged.rank(row);
    found.of = judged.count();
    found.regret = judged.regret(row);
  }
  return found;
}

}  // namespace

size_t find_row(const BenchmarkTable& table, const std::string& architecture) {
  // What no shipped space has may still be in the table: `none`, an input taken twice.
  const std::string space = can_be_numbered(*table.space()) ? "" : table.space()->name();
  if (!architecture.starts_with("#")) return table.row(find_genotype(architecture, space));
  const std::string digits = architecture.substr(1);
  if (digits.empty() || digits.size() > 9 || digits.find_first_not_of("0123456789") != std::string::npos) {
    fail("'{}' is not an architecture's number in the benchmark's own order, such as #11.", architecture);
  }
  return table.row_of_number(std::stoll(digits));
}

Measure longest_measure(const BenchmarkTable& table) {
  for (const std::string quantity : {"test", "valid"}) {
    const std::string data = table.data_sets().front();
    const auto budgets = table.budgets(data, quantity);
    if (!budgets.empty()) return {.data = data, .quantity = quantity, .budget = budgets.back()};
  }
  return table.columns().front();
}

std::vector<TableRank> table_ranks(const BenchmarkTable& table, size_t row) {
  std::vector<TableRank> all;
  for (const std::string& data : table.data_sets()) {
    std::set<Budget> budgets;
    for (const std::string quantity : {"valid", "test"}) {
      for (const Budget& budget : table.budgets(data, quantity)) {
        if (budget.whole()) budgets.insert(budget);
      }
    }
    for (const Budget& budget : budgets) all.push_back(rank_in(table, row, data, budget));
  }
  return all;
}

Json to_json(const TableRank& place) {
  Json json = {{"epochs", place.budget.epochs}};
  if (place.valid) json["valid"] = *place.valid;
  if (place.test) json["test"] = *place.test;
  if (place.regret) {
    json["rank"] = place.rank;
    json["of"] = place.of;
    json["regret"] = *place.regret;
  }
  if (place.seconds) json["seconds"] = *place.seconds;
  return json;
}

Json final_table_ranks(const BenchmarkTable& table, size_t row) {
  Json json = Json::object();
  for (TableRank& place : table_ranks(table, row)) {  // the longest schedule is last
    place.seconds.reset();
    json[place.data] = to_json(place);
  }
  return json;
}

}  // namespace nascent
