#include "nascent/search/black_box/metric_pool.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <numeric>
#include <set>

#include "nascent/core/error.h"
#include "nascent/core/files.h"
#include "nascent/core/text.h"
#include "nascent/score/probe.h"
#include "nascent/table/csv.h"

namespace nascent {

namespace {

using MetricRow = std::map<std::string, std::string>;        // metric: number
using Rows = std::map<std::string, MetricRow, std::less<>>;  // by architecture

Rows read_csv(const std::string& bytes, const std::filesystem::path& file) {
  const std::vector<CsvRow> table = parse_csv(bytes, file.string());
  const std::vector<std::string>& header = table[0].fields;
  const auto arch = std::find(header.begin(), header.end(), "arch");
  if (arch == header.end()) fail("{} has no column 'arch'. Found: {}.", file.string(), join(header, ", "));
  Rows rows;
  for (size_t r = 1; r < table.size(); ++r) {
    MetricRow& row = rows[table[r].fields[arch - header.begin()]];
    for (size_t c = 0; c < header.size(); ++c) row[header[c]] = table[r].fields[c];
  }
  return rows;
}

double number(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  return end == text.c_str() ? std::nan("") : value;  // HNAS leaves it out
}

[[noreturn]] void refuse(const std::filesystem::path& file, const std::string& metric, const Rows& rows) {
  std::set<std::string> known;
  for (const auto& [architecture, row] : rows) {
    for (const auto& [name, value] : row) known.insert(name);
  }
  const std::vector<std::string> names(known.begin(), known.end());
  fail("{} has no architecture with both '{}' and 'kappa'.{} It has: {}.", file.string(), metric,
       suggestion(metric, names), names.empty() ? "nothing" : join(names, ", "));
}

}  // namespace

MetricPool read_metric_pool(const std::filesystem::path& file, const std::string& metric, const Space& space) {
  if (file.empty()) fail("The architectures to choose from are missing: give --pool FILE, --sample N or --all.");
  const Rows rows = read_csv(read_file(file), file);
  MetricPool pool;
  for (const auto& [architecture, row] : rows) {
    const auto value = row.find(metric), kappa = row.find(kConditionNumber);
    if (value == row.end() || kappa == row.end()) continue;
    Genotype genotype = parse_genotype(architecture, "", space.name());
    space.validate(genotype);
    pool.architectures.push_back(std::move(genotype));
    pool.entries.push_back({number(value->second), number(kappa->second)});
  }
  if (pool.entries.empty()) refuse(file, metric, rows);
  return pool;
}

std::vector<size_t> best_first(const MetricPool& pool, const std::string& metric) {
  const bool low = Metric::Registry::instance().at(metric).facts.lower_is_better;
  std::vector<size_t> order(pool.entries.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const auto worth = [&](size_t place) {
    const double value = pool.entries[place].metric;
    return std::isnan(value) ? -std::numeric_limits<double>::infinity() : low ? -value : value;
  };
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return worth(a) > worth(b); });
  return order;
}

}  // namespace nascent
