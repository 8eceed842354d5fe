// A pool of architectures with training-free metrics, read from a CSV file as 'nascent score --csv' writes it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "nascent/search/black_box/hnas.h"
#include "nascent/space/space.h"

namespace nascent {

struct MetricPool {
  std::vector<Genotype> architectures;
  std::vector<PoolEntry> entries;
};

// The columns "arch", `metric` and "kappa" are read. Values that are no numbers become NaN. An Error where the metric
// is not there.
MetricPool read_metric_pool(const std::filesystem::path& file, const std::string& metric, const Space& space);

// Places of the pool from the best by the metric down; what is no number comes last.
std::vector<size_t> best_first(const MetricPool& pool, const std::string& metric);

}  // namespace nascent
