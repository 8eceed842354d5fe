#include "nascent/analysis/row_comparison.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "nascent/core/csv_field.h"
#include "nascent/core/error.h"
#include "nascent/core/files.h"
#include "nascent/core/paired_test.h"
#include "nascent/core/power.h"
#include "nascent/core/text.h"
#include "nascent/run/interval_plot.h"
#include "nascent/table/csv.h"

namespace nascent {
namespace {

constexpr const char* kFields =
    "row,runs,mean,low,high,deviation,test,difference,difference_low,difference_high,p,p_holm,detectable";
constexpr double kLevel = 0.05;

size_t column_of(const std::vector<std::string>& names, const std::string& wanted, const std::string& file) {
  const auto place = std::find(names.begin(), names.end(), wanted);
  if (place == names.end()) {
    fail("{} has no column '{}'.{} There are: {}.", file, wanted, suggestion(wanted, names), join(names, ", "));
  }
  return static_cast<size_t>(place - names.begin());
}

double number_of(const std::string& text, const std::string& file, int64_t line) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !std::isfinite(value)) {
    fail("{}, line {}: '{}' is not a number.", file, line, text);
  }
  return value;
}

const ExperimentRow& row_named(const std::vector<ExperimentRow>& rows, const std::string& name,
                               const std::string& asked_by) {
  std::vector<std::string> names;
  for (const ExperimentRow& row : rows) {
    if (row.name == name) return row;
    names.push_back(row.name);
  }
  fail("{}: there is no row '{}'.{} There are: {}.", asked_by, name, suggestion(name, names), join(names, ", "));
}

// Differences by seed where both rows have the same seeds, each once; nothing elsewhere.
std::optional<std::vector<double>> differences_by_seed(const ExperimentRow& row, const ExperimentRow& reference) {
  if (row.runs.size() != reference.runs.size()) return std::nullopt;
  std::set<std::string> seen;
  std::vector<double> differences;
  for (const auto& [seed, value] : row.runs) {
    const auto other = reference.of_seed(seed);
    if (seed.empty() || !other || !seen.insert(seed).second) return std::nullopt;
    differences.push_back(value - *other);
  }
  return differences;
}

NormalList normal_list(const std::vector<double>& numbers) {
  return {numbers.size(), mean_and_deviation(numbers).deviation};
}

RowDifference difference_of(const ExperimentRow& row, const ExperimentRow& reference, const Resampling& resampling,
                            double level) {
  const std::vector<double> a = reference.values(), b = row.values();
  const auto pairs = differences_by_seed(row, reference);
  const PermutationTest test = pairs ? sign_flip_test(*pairs, resampling) : permutation_test(a, b, resampling);
  const auto detectable = [&] {
    return pairs ? detectable_by_signs(pairs->size(), mean_and_deviation(*pairs).deviation, level)
                 : detectable_by_deals(normal_list(a), normal_list(b), level);
  };
  return {.paired = pairs.has_value(),
          .difference = pairs ? bootstrap_mean(*pairs, resampling) : bootstrap_difference(a, b, resampling),
          .p = test.p,
          .detectable = test.least > level ? INFINITY : detectable()};
}

// JSON knows no infinity.
Json finite(double value) { return std::isfinite(value) ? Json(value) : Json(); }

void draw(const RowComparison& comparison, const RowComparisonOptions& options) {
  IntervalPlot plot{.title = "Means with 95 % intervals", .axis = options.value};
  for (const ComparedRow& row : comparison.rows) {
    plot.rows.push_back({row.row.name, row.mean.middle, row.mean.low, row.mean.high, row.row.values(),
                         row.row.name == comparison.reference});
  }
  write_file(options.plot, draw_intervals(plot));
  const auto stem = std::filesystem::path(options.plot).replace_extension();
  write_file(stem.string() + "-means.csv", comparison_csv(comparison));
}

}  // namespace

void RowComparisonOptions::declare(OptionTable& table) {
  auto section = table.section("compare", "Rows of an experiment, several runs each, from a CSV file.");
  section.add("reference", reference, "row that the others are compared with; empty: means only");
  section.add("value", value, "column with the value of each run; columns 'row' and 'seed' name the run");
  section.add("check", check, "CSV file with further runs: tells whether each lies where the row's runs suggest");
  section.add("resamples", resamples, "resamples of a bootstrap interval, and of a test that cannot enumerate")
      .range(100, 10000000);
  section.add("seed", seed, "random seed of the resamples").at_least(0);
  section.add("csv", csv, "write the means, intervals and tests to this file");
  section.add("plot", plot, "plot the means with their intervals to this .svg file, with a -means.csv beside it");
}

std::vector<double> ExperimentRow::values() const {
  std::vector<double> all;
  for (const auto& [seed, value] : runs) all.push_back(value);
  return all;
}

std::optional<double> ExperimentRow::of_seed(const std::string& seed) const {
  for (const auto& [known, value] : runs) {
    if (known == seed) return value;
  }
  return std::nullopt;
}

std::vector<ExperimentRow> read_rows(const std::string& file, const std::string& value) {
  const std::vector<CsvRow> lines = parse_csv(read_file(file), file);
  if (lines.size() < 2) fail("{} has no runs; a line of names and a line per run were expected.", file);
  const std::vector<std::string>& names = lines[0].fields;
  const size_t row = column_of(names, "row", file), seed = column_of(names, "seed", file);
  const size_t number = column_of(names, value, file);
  std::vector<ExperimentRow> rows;
  for (size_t i = 1; i < lines.size(); ++i) {
    const std::vector<std::string>& fields = lines[i].fields;
    auto known = std::find_if(rows.begin(), rows.end(), [&](const auto& r) { return r.name == fields[row]; });
    if (known == rows.end()) known = rows.insert(rows.end(), {.name = fields[row]});
    known->runs.emplace_back(fields[seed], number_of(fields[number], file, lines[i].line));
  }
  return rows;
}

RowComparison compare_rows(const std::vector<ExperimentRow>& rows, const std::string& reference,
                           const Resampling& resampling) {
  RowComparison comparison{.reference = reference};
  const ExperimentRow* other = reference.empty() ? nullptr : &row_named(rows, reference, "--reference");
  const auto is_compared = [&](const ExperimentRow& row) {
    return other && row.name != reference && row.runs.size() > 1 && other->runs.size() > 1;
  };
  const auto compared = std::max<int64_t>(1, std::count_if(rows.begin(), rows.end(), is_compared));
  std::vector<double> p;
  for (const ExperimentRow& row : rows) {
    ComparedRow& found = comparison.rows.emplace_back(ComparedRow{.row = row});
    found.mean = bootstrap_mean(row.values(), resampling);
    found.deviation = mean_and_deviation(row.values()).deviation;
    if (!is_compared(row)) continue;
    found.against = difference_of(row, *other, resampling, kLevel / static_cast<double>(compared));
    p.push_back(found.against->p);
  }
  const std::vector<double> corrected = holm(p);
  size_t next = 0;
  for (ComparedRow& row : comparison.rows) {
    if (row.against) row.against->p_holm = corrected[next++];
  }
  return comparison;
}

std::vector<CheckedRun> check_runs(const std::vector<ExperimentRow>& rows, const std::vector<ExperimentRow>& more) {
  std::vector<CheckedRun> checked;
  for (const ExperimentRow& further : more) {
    const ExperimentRow& row = row_named(rows, further.name, "--check");
    const Interval expected = prediction_interval(row.values());
    for (const auto& [seed, value] : further.runs) {
      checked.push_back({row.name, seed, value, row.of_seed(seed), expected});
    }
  }
  return checked;
}

RowComparison compare_rows(const RowComparisonOptions& options) {
  if (!options.plot.empty() && !options.plot.ends_with(".svg"))
    fail("--plot {}: the name must end in .svg.", options.plot);
  const std::vector<ExperimentRow> rows = read_rows(options.file, options.value);
  RowComparison comparison = compare_rows(rows, options.reference, options.resampling());
  if (!options.check.empty()) comparison.checked = check_runs(rows, read_rows(options.check, options.value));
  if (!options.csv.empty()) write_file(options.csv, comparison_csv(comparison));
  if (!options.plot.empty()) draw(comparison, options);
  return comparison;
}

Json ComparedRow::to_json() const {
  Json json = {{"row", row.name},         {"runs", row.runs.size()},   {"mean", mean.middle},
               {"low", finite(mean.low)}, {"high", finite(mean.high)}, {"deviation", deviation}};
  if (!against) return json;
  json["test"] = against->paired ? "paired" : "unpaired";
  json["difference"] = against->difference.middle;
  json["difference_low"] = against->difference.low;
  json["difference_high"] = against->difference.high;
  json["p"] = against->p;
  json["p_holm"] = against->p_holm;
  json["detectable"] = finite(against->detectable);
  return json;
}

Json CheckedRun::to_json() const {
  return {{"row", row},
          {"seed", seed},
          {"value", value},
          {"before", before ? Json(*before) : Json()},
          {"low", finite(expected.low)},
          {"high", finite(expected.high)},
          {"same", same()},
          {"inside", judged() ? Json(inside()) : Json()}};
}

Json RowComparison::to_json() const {
  Json json = {{"reference", reference}, {"rows", Json::array()}};
  for (const ComparedRow& row : rows) json["rows"].push_back(row.to_json());
  for (const CheckedRun& run : checked) json["checked"].push_back(run.to_json());
  return json;
}

std::string comparison_csv(const RowComparison& comparison) {
  std::string text = fmt::format("{}\n", kFields);
  for (const ComparedRow& row : comparison.rows) {
    const Json json = row.to_json();
    std::vector<std::string> fields;
    for (const std::string& key : split(kFields, ',')) {
      const Json value = json.value(key, Json());
      fields.push_back(value.is_string() ? csv_field(value.get<std::string>()) : value.is_null() ? "" : value.dump());
    }
    text += fmt::format("{}\n", join(fields, ","));
  }
  return text;
}

}  // namespace nascent
