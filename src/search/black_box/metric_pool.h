// A pool of architectures with training-free metrics, read from a CSV file as 'nascent score --csv' writes it, or from
// the cache of scores itself, which may hold millions.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "nascent/search/black_box/hnas.h"
#include "nascent/space/space.h"

namespace nascent {

struct MetricPool {
  std::vector<PoolEntry> entries{};
  std::vector<std::string_view> texts{};  // the architecture of each entry: parts of `bytes`
  std::shared_ptr<const void> bytes{};
  std::string space{};

  Genotype architecture(size_t place) const;
};

// The columns "arch", `metric` and "kappa" are read; of a cache (.scores), what its lines say of an architecture
// together, the latest of each. Values that are no numbers become NaN. An Error where no architecture has both.
MetricPool read_metric_pool(const std::filesystem::path& file, const std::string& metric, const Space& space);

// Places of the pool from the best by the metric down; what is no number comes last.
std::vector<size_t> best_first(const MetricPool& pool, const std::string& metric);

}  // namespace nascent
