// Rows of an experiment, each run with several seeds, from a CSV file to what can be said of them: means with their
// intervals, differences from a reference with a test of each, and how small a difference could have been seen. What
// `nascent analyze compare` does.
#pragma once

#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "nascent/core/options.h"
#include "nascent/core/resampling.h"

namespace nascent {

struct RowComparisonOptions {
  std::string file{};       // columns row, seed and a value, one line per run
  std::string reference{};  // the row that the others are compared with; "": none
  std::string value = "value";
  std::string check{};  // a file of further runs, to be found in the expected place; "": none
  int resamples = 10000;
  int64_t seed = 1;
  std::string csv{}, plot{};  // files to write; "": none

  Resampling resampling() const { return {.resamples = resamples, .seed = static_cast<uint64_t>(seed)}; }
  void declare(OptionTable& table);
};

// Runs of one row, in the order of the file.
struct ExperimentRow {
  std::string name{};
  std::vector<std::pair<std::string, double>> runs{};  // seed and value; the seed may be empty
  std::vector<double> values() const;
  std::optional<double> of_seed(const std::string& seed) const;
};

struct RowDifference {
  bool paired = false;       // by seed: both rows have the same ones
  Interval difference{};     // row minus reference
  double p = 1, p_holm = 1;  // p_holm: corrected for the number of rows compared
  // The smallest difference that the test sees in four of five such experiments (core/power.h), at the level that is
  // left to each of the rows compared; infinite where there are too few runs to see any.
  double detectable = 0;
};

struct ComparedRow {
  ExperimentRow row{};
  Interval mean{};
  double deviation = 0;
  std::optional<RowDifference> against{};  // of rows with at least two runs, and not of the reference
  Json to_json() const;
};

// One more run of a row, and where it was to be expected: the 95 % prediction interval of the row's runs. An interval
// of the mean would be too narrow for a single run.
struct CheckedRun {
  std::string row{}, seed{};
  double value = 0;
  std::optional<double> before{};  // of the same seed
  Interval expected{};
  bool same() const { return before && *before == value; }
  // One run gives no interval: nothing can be said of another.
  bool judged() const { return same() || std::isfinite(expected.low); }
  bool inside() const { return same() || expected.contains(value); }
  Json to_json() const;
};

struct RowComparison {
  std::string reference{};
  std::vector<ComparedRow> rows{};  // in the order of the file
  std::vector<CheckedRun> checked{};
  Json to_json() const;
};

std::vector<ExperimentRow> read_rows(const std::string& file, const std::string& value);
RowComparison compare_rows(const std::vector<ExperimentRow>& rows, const std::string& reference,
                           const Resampling& resampling = {});
std::vector<CheckedRun> check_runs(const std::vector<ExperimentRow>& rows, const std::vector<ExperimentRow>& more);

// Reads, compares, checks, and writes the files that are asked for.
RowComparison compare_rows(const RowComparisonOptions& options);

// "row,runs,mean,low,high,..." by line.
std::string comparison_csv(const RowComparison& comparison);

}  // namespace nascent
