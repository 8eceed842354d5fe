// Where an architecture stands in a table: what it reaches, its rank among all, its distance from the best.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "nascent/core/options.h"
#include "nascent/table/benchmark_table.h"

namespace nascent {

// After one whole schedule on one data set. What the table does not know is empty. Rank and regret are those of the
// test accuracy or, where there is none, of the validation accuracy.
struct TableRank {
  std::string data{};
  Budget budget{};
  std::optional<double> valid{}, test{}, seconds{}, regret{};
  size_t rank = 0, of = 0;  // 0 where there is no accuracy
};

// The row of an architecture that is named in any form, or by #NUMBER in the benchmark's own order.
size_t find_row(const BenchmarkTable& table, const std::string& architecture);
// What architectures are ranked by unless told otherwise: the accuracy after the longest schedule on the first data
// set, in the test where the table has it.
Measure longest_measure(const BenchmarkTable& table);
// One per data set and schedule.
std::vector<TableRank> table_ranks(const BenchmarkTable& table, size_t row);
// Rank and regret after the longest schedule, by data set: {"cifar10": {"epochs": 200, "test": 94.37, "rank": 1, ...}}.
Json final_table_ranks(const BenchmarkTable& table, size_t row);
Json to_json(const TableRank& place);

}  // namespace nascent
