// The actions of 'nascent table' that search: one strategy, or several against one another.
#pragma once

#include <string>
#include <vector>

#include "cli/verb.h"
#include "table/comparison.h"

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

// Puts final_standings() of what was found under "table"; where the table has no row for it, only says so: a search
// must not fail in the end because a table has gaps.
void add_standings(Json& result, const BenchmarkTable& table, const Genotype& genotype);
// Lines for people of what final_standings() found.
void print_standings(const Invocation& invocation, const Json& standings);

Json search_on_table(const Invocation& invocation, const BenchmarkTable& table, const TableSearchOptions& options);
Json compare_on_table(const Invocation& invocation, const BenchmarkTable& table, const TableSearchOptions& options);

}  // namespace nascent
