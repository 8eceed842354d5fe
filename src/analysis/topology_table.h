// The topology of every architecture of a benchmark table, beside what the table says of each.
#pragma once

#include <string>
#include <vector>

#include "nascent/analysis/topology.h"
#include "nascent/core/options.h"
#include "nascent/table/benchmark_table.h"

namespace nascent {

struct TopologyCorrelation {
  std::string measure{};  // "cifar10_test200"
  int64_t architectures = 0;
  double width = 0, depth = 0;  // Spearman's correlation with each
};

struct TopologyTable {
  std::vector<Topology> rows{};  // of the first cell type, by row of the table
  int64_t connected = 0;         // rows in which a path leads from an input to the output
  std::vector<TopologyCorrelation> correlations{};

  bool is_connected(size_t row) const { return rows[row].depth > 0; }
};

// Correlations are those over connected architectures that have a value.
TopologyTable tabulate_topology(const BenchmarkTable& table, const std::vector<std::string>& measures);

// One line per architecture: its text, width, depth, and its measures.
std::string topology_csv(const BenchmarkTable& table, const TopologyTable& topology,
                         const std::vector<std::string>& measures);

}  // namespace nascent
