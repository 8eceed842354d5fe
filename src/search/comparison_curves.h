// Accuracy against cost of several methods, as a plot and as numbers.
#pragma once

#include <string>
#include <vector>

#include "nascent/search/comparison.h"

namespace nascent {

// Test accuracy of what each would have answered up to `budget` seconds on the table's clock: mean and deviation over
// its searches. Files that are "" are not written; methods that asked no judge have no curve.
void write_comparison_curves(const std::vector<Contestant>& contestants, const BenchmarkTable& table, double budget,
                             const std::string& plot, const std::string& csv);

}  // namespace nascent
