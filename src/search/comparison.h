// Methods against one another: every recipe with every seed, each a search of its own in a folder of the whole run.
//
//   Comparison comparison(options, session);   // options.comparison.recipes, options.stages.seeds
//   comparison.run();
//   comparison.found();                        // the best of all, with the figures of every recipe
#pragma once

#include <string>
#include <vector>

#include "nascent/search/method.h"
#include "nascent/search/search_options.h"
#include "nascent/search/trace.h"

namespace nascent {

struct Spread {
  double mean = 0, deviation = 0;  // of a sample; 0 for a single number
};
Spread spread_of(const std::vector<double>& numbers);

// All searches by one recipe.
struct Contestant {
  std::string recipe{}, judge{};
  std::vector<Genotype> found{};
  std::vector<double> valid_top1{};   // of those that measured it
  std::vector<SearchTrace> traces{};  // of those that asked a judge

  // A measure of what each search would have answered after so many seconds; empty where one had nothing yet.
  std::vector<double> values_after(double seconds, const BenchmarkTable& table, const TableSeries& series) const;
  double mean_trials() const;
};

// Test accuracy after the longest schedule, for every data set that has one.
std::vector<Measure> test_measures(const BenchmarkTable& table);

class Comparison {
 public:
  // An Error where a recipe is none, is no search, or is named twice.
  Comparison(const SearchOptions& options, Session& session);

  // Runs what is left to be done. The session has begun.
  void run();
  // The genotype with the best validation accuracy where all have one by the same judge, otherwise the first that was
  // found.
  Found found() const;

 private:
  SearchOptions options_for(const std::string& recipe, int64_t seed) const;
  Json figures(const Contestant& contestant) const;
  void write_curves() const;
  SessionStart start_of(const std::string& recipe, int64_t seed) const;
  void search_ahead();

  const SearchOptions& options_;
  Session& session_;
  std::optional<BenchmarkTable> table_;
  std::vector<Contestant> contestants_;
};

}  // namespace nascent
