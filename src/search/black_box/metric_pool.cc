#include "nascent/search/black_box/metric_pool.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <deque>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <unordered_map>

#include "nascent/core/checked_lines.h"
#include "nascent/core/error.h"
#include "nascent/core/files.h"
#include "nascent/core/line_index.h"
#include "nascent/core/options.h"
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

namespace {

MetricPool pool_of_csv(const std::filesystem::path& file, const std::string& metric, const Space& space) {
  const Rows rows = read_csv(read_file(file), file);
  const auto texts = std::make_shared<std::deque<std::string>>();
  MetricPool pool{.bytes = texts, .space = space.name()};
  for (const auto& [architecture, row] : rows) {
    const auto value = row.find(metric), kappa = row.find(kConditionNumber);
    if (value == row.end() || kappa == row.end()) continue;
    space.validate(parse_genotype(architecture, "", space.name()));
    pool.texts.push_back(texts->emplace_back(architecture));
    pool.entries.push_back({number(value->second), number(kappa->second)});
  }
  if (pool.entries.empty()) refuse(file, metric, rows);
  return pool;
}

// "NAME=" in a line of a cache, which keeps metrics of a later definition as NAME@VERSION.
std::string field_of(const std::string& metric) {
  const int version = Metric::Registry::instance().at(metric).facts.version;
  return version == 1 ? metric + "=" : fmt::format("{}@{}=", metric, version);
}

std::optional<double> number_in(std::string_view line, const std::string& field) {
  for (size_t tab = line.find('\t'); tab != std::string_view::npos; tab = line.find('\t', tab + 1)) {
    if (line.substr(tab + 1).starts_with(field)) return number(std::string(line.substr(tab + 1 + field.size(), 32)));
  }
  return std::nullopt;
}

// What the lines of a cache say of an architecture: several where it was scored in several goes; later ones win.
struct CachedEntry {
  std::string_view text;
  std::optional<double> metric{}, kappa{};
};

std::vector<CachedEntry> read_entries(CheckedLines& lines, const std::string& metric) {
  const std::string metric_field = field_of(metric), kappa_field = field_of(kConditionNumber);
  std::vector<CachedEntry> entries;
  std::unordered_map<uint64_t, size_t> place_of;  // by half of the hash, which suffices for billions
  while (lines.next()) {
    if (!lines.good()) continue;
    const std::string_view text = LineIndex::key_of(lines.body());
    const auto [place, is_new] = place_of.emplace(hash128(text).low, entries.size());
    if (is_new) entries.push_back({text});
    CachedEntry& entry = entries[place->second];
    if (const auto value = number_in(lines.body(), metric_field)) entry.metric = value;
    if (const auto value = number_in(lines.body(), kappa_field)) entry.kappa = value;
  }
  return entries;
}

// Architectures are taken as they stand: each was of the space when it was scored. Those of a million lines are not
// parsed before one of them is proposed.
MetricPool pool_of_cache(const std::filesystem::path& path, const std::string& metric, const Space& space) {
  const auto file = std::make_shared<const MappedFile>(path);
  MetricPool pool{.bytes = file, .space = space.name()};
  CheckedLines lines(file->bytes());
  const std::string named = fmt::format("\"space\":{}", Json(space.name()).dump());
  if (!lines.next() || !lines.good() || lines.body().find(named) == std::string_view::npos) {
    fail("{} is not a cache of scores of the space '{}'. 'nascent score' writes them, and says where.", path.string(),
         space.name());
  }
  for (const CachedEntry& entry : read_entries(lines, metric)) {
    if (!entry.metric || !entry.kappa) continue;
    pool.texts.push_back(entry.text);
    pool.entries.push_back({*entry.metric, *entry.kappa});
  }
  if (pool.entries.empty()) {
    fail("{} has no architecture with both '{}' and '{}'. Score them with --metrics {},{}.", path.string(), metric,
         kConditionNumber, metric, kConditionNumber);
  }
  return pool;
}

}  // namespace

Genotype MetricPool::architecture(size_t place) const { return parse_genotype(std::string(texts[place]), "", space); }

MetricPool read_metric_pool(const std::filesystem::path& file, const std::string& metric, const Space& space) {
  if (file.empty()) fail("The architectures to choose from are missing: give --pool FILE, --sample N or --all.");
  return file.extension() == ".scores" ? pool_of_cache(file, metric, space) : pool_of_csv(file, metric, space);
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
