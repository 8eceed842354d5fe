// A pool of architectures with training-free metrics, read from a file of scores or from a CSV file.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "score/hnas.h"
#include "space/space.h"

namespace nascent {

struct MetricPool {
  std::vector<Genotype> architectures;
  std::vector<PoolEntry> entries;
};

// A .scores file of 'nascent score' (docs/formats.md), or a CSV file with the columns "arch", `metric` and "kappa".
// Architectures that lack one of the two are left out. An Error where nothing is left, or the metric is not there.
MetricPool read_metric_pool(const std::filesystem::path& file, const std::string& metric, const Space& space);

}  // namespace nascent
