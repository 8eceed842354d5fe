// Where what a search found stands in a benchmark.
#pragma once

#include "nascent/core/options.h"
#include "nascent/table/benchmark_table.h"

namespace nascent {

// Puts final_table_ranks() of what was found under "table"; where the table has no row for it, only says so: a search
// must not fail in the end because a table has gaps.
void add_table_ranks(Json& result, const BenchmarkTable& table, const Genotype& genotype);

}  // namespace nascent
