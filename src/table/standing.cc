#include "table/standing.h"

#include <cmath>
#include <set>

namespace nascent {

namespace {

std::optional<double> value_of(const BenchmarkTable& table, const Measure& measure, size_t row) {
  if (!table.has(measure)) return std::nullopt;
  const double value = table.series(measure).value(row);
  return std::isnan(value) ? std::nullopt : std::optional(value);
}

Standing standing(const BenchmarkTable& table, size_t row, const std::string& data, const Budget& budget) {
  const Measure valid{.data = data, .quantity = "valid", .budget = budget};
  const Measure test{.data = data, .quantity = "test", .budget = budget};
  Standing found{.data = data, .budget = budget};
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

std::vector<Standing> standings(const BenchmarkTable& table, size_t row) {
  std::vector<Standing> all;
  for (const std::string& data : table.data_sets()) {
    std::set<Budget> budgets;
    for (const std::string quantity : {"valid", "test"}) {
      for (const Budget& budget : table.budgets(data, quantity)) {
        if (budget.whole()) budgets.insert(budget);
      }
    }
    for (const Budget& budget : budgets) all.push_back(standing(table, row, data, budget));
  }
  return all;
}

Json to_json(const Standing& standing) {
  Json json = {{"epochs", standing.budget.epochs}};
  if (standing.valid) json["valid"] = *standing.valid;
  if (standing.test) json["test"] = *standing.test;
  if (standing.regret) {
    json["rank"] = standing.rank;
    json["of"] = standing.of;
    json["regret"] = *standing.regret;
  }
  if (standing.seconds) json["seconds"] = *standing.seconds;
  return json;
}

Json final_standings(const BenchmarkTable& table, size_t row) {
  Json json = Json::object();
  for (Standing& standing : standings(table, row)) {  // the longest schedule is last
    standing.seconds.reset();
    json[standing.data] = to_json(standing);
  }
  return json;
}

}  // namespace nascent
