// What the table verbs say of a benchmark table.
#pragma once

#include "nascent/cli/verb.h"
#include "nascent/table/benchmark_table.h"

namespace nascent {

// Prints where a table comes from and what it holds, and returns the same.
Json show_table(const Invocation& invocation, const BenchmarkTable& table);

}  // namespace nascent
