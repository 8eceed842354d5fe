// The actions of 'nascent table' that search: one strategy, or several against one another.
#pragma once

#include <string>
#include <vector>

#include "nascent/cli/verb.h"
#include "nascent/search/comparison.h"

namespace nascent {

struct TableSearchOptions {
  std::string strategy = "rea";
  std::vector<std::string> strategies = {"random", "rea", "reinforce", "bohb", "local-search"};
  int64_t seed = 1;
  int runs = 10;
  std::string plot, csv;
  ComparisonOptions clock;
  StrategyOptions settings;

  void declare(OptionTable& table);
};

// Puts final_table_ranks() of what was found under "table"; where the table has no row for it, only says so: a search
// must not fail in the end because a table has gaps.
void add_table_ranks(Json& result, const BenchmarkTable& table, const Genotype& genotype);
// Lines for people of what final_table_ranks() found.
void print_table_ranks(const Invocation& invocation, const Json& table_ranks);

Json search_on_table(const Invocation& invocation, const BenchmarkTable& table, const TableSearchOptions& options);
Json compare_on_table(const Invocation& invocation, const BenchmarkTable& table, const TableSearchOptions& options);

}  // namespace nascent
