// Runs side by side: the options that differ, the results, means over seeds, paired tests.
//
//   const Comparison comparison = compare_runs({"runs/a-1", "runs/a-2", "runs/b-1", "runs/b-2"});
//   std::cout << to_text(comparison);
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "nascent/core/paired_test.h"
#include "nascent/run/run_directory.h"

namespace nascent {

// Runs whose options are the same but for the seed.
struct RunGroup {
  std::string name;            // of its first run, "(+2)" where there are two more
  std::vector<size_t> runs;    // places in the comparison
  std::vector<int64_t> seeds;  // of the runs; empty where they have none
};

struct Comparison {
  struct Row {
    std::string key;
    std::vector<std::string> values;  // one for each run; "" where it has none
  };
  struct Result {
    std::string key;
    std::vector<std::optional<double>> values;  // one for each run
  };
  // Of two groups with at least two seeds in common.
  struct Pair {
    size_t first = 0, second = 0;  // groups
    std::string key;               // the figure
    PairedTest test;               // of second minus first
  };

  std::vector<std::filesystem::path> paths{};
  std::vector<std::string> names{};  // told apart by as much of the paths as it takes
  std::vector<Row> options{};        // those that differ
  std::vector<Result> results{};
  std::vector<RunGroup> groups{};
  std::string figure{};  // the key that pairs are tested by; "" where the runs share none
  std::vector<Pair> pairs{};

  // Of a result over the runs of a group that have it.
  MeanAndDeviation over_seeds(const Result& result, const RunGroup& group) const;
  Json to_json() const;
};

// `figure` "": the headline figure that the runs share. An Error where fewer than two runs are given, or one is none.
Comparison compare_runs(const std::vector<std::filesystem::path>& paths, const std::string& figure = "");

std::string to_text(const Comparison& comparison);
// One row per option and result: kind, key, then a column per run.
std::string to_csv(const Comparison& comparison);
// A page as the report of a run is: tables, curves overlaid, cells side by side.
std::string comparison_page(const Comparison& comparison);

}  // namespace nascent
