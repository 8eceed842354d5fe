#include "nascent/search/comparison.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "nascent/core/error.h"
#include "nascent/core/log.h"
#include "nascent/core/recipes.h"
#include "nascent/core/text.h"
#include "nascent/search/comparison_curves.h"
#include "nascent/search/search.h"
#include "nascent/train/parts_ahead.h"

namespace nascent {

Spread spread_of(const std::vector<double>& numbers) {
  if (numbers.empty()) return {NAN, NAN};
  const auto count = static_cast<double>(numbers.size());
  const double mean = std::accumulate(numbers.begin(), numbers.end(), 0.0) / count;
  double squares = 0;
  for (const double x : numbers) squares += (x - mean) * (x - mean);
  return {mean, numbers.size() > 1 ? std::sqrt(squares / (count - 1)) : 0};
}

std::vector<double> Contestant::values_after(double seconds, const BenchmarkTable& table,
                                             const TableSeries& series) const {
  std::vector<double> values;
  for (const SearchTrace& trace : traces) {
    const Trial* incumbent = trace.incumbent_after(seconds);
    if (incumbent == nullptr) return {};
    values.push_back(series.value(table.row(incumbent->proposal.genotype)));
  }
  return values;
}

double Contestant::mean_trials() const {
  double sum = 0;
  for (const SearchTrace& trace : traces) sum += static_cast<double>(trace.trials.size());
  return traces.empty() ? 0 : sum / static_cast<double>(traces.size());
}

std::vector<Measure> test_measures(const BenchmarkTable& table) {
  std::vector<Measure> measures;
  for (const std::string& data : table.data_sets()) {
    const auto budgets = table.budgets(data, "test");
    if (!budgets.empty()) measures.push_back({.data = data, .quantity = "test", .budget = budgets.back()});
  }
  return measures;
}

namespace {

// "mine.toml" in another folder is still a folder's name here.
std::string folder_of(const std::string& recipe, int number) {
  return fmt::format("{}-{}", std::filesystem::path(recipe).stem().string(), number);
}

Json spread_json(const Spread& spread) { return {{"mean", spread.mean}, {"deviation", spread.deviation}}; }

}  // namespace

Comparison::Comparison(const SearchOptions& options, Session& session) : options_(options), session_(session) {
  const auto& recipes = options.comparison.recipes;
  std::set<std::string> folders;
  for (const auto& recipe : recipes) folders.insert(folder_of(recipe, 1));
  if (folders.size() != recipes.size()) fail("--recipes names one twice: {}.", join(recipes, ", "));
  for (const auto& recipe : recipes) find_recipe(recipe).require_verb("search");
  if (options.stages.trains())
    fail("--recipes compares searches; --stage2-epochs and --stage3-seeds are for one recipe.");
  const ComparisonOptions& curves = options.comparison;
  if (!curves.plot.empty() && !curves.plot.ends_with(".svg")) {
    fail("--plot {}: the name must end in .svg.", curves.plot);
  }
  if ((!curves.plot.empty() || !curves.csv.empty()) && options.table.empty()) {
    fail("--plot and --csv show test accuracies of a benchmark's table: give --table FILE.");
  }
  if (!options.table.empty()) table_.emplace(options.table);
  for (const auto& recipe : recipes) {
    // What a search would refuse is refused before there is a run.
    SearchOptions one = options_for(recipe, options.run.seed);
    one.resolve();
    make_method(Problem(one));
  }
}

SearchOptions Comparison::options_for(const std::string& name, int64_t seed) const {
  const Recipe recipe = find_recipe(name);
  SearchOptions one;
  OptionTable table;
  one.declare(table);
  table.read_toml(recipe.text, "recipe " + name);
  std::vector<std::string> typed;
  for (const auto& assignment : options_.comparison.set) {
    table.read_assignment(assignment);
    typed.push_back(table.at(assignment.substr(0, assignment.find('=')), "--compare-set").key());
  }
  one.run.seed = seed;
  one.stages = {};
  one.comparison = {};
  if (!options_.comparison.scale.empty()) {
    one.resolve();
    apply_scale(Scale::parse(options_.comparison.scale), one.scale_limits(), typed, table);
  }
  return one;
}

SessionStart Comparison::start_of(const std::string& recipe, int64_t seed) const {
  std::vector<std::string> words = {"--recipe", recipe, "--seed", std::to_string(seed)};
  for (const auto& assignment : options_.comparison.set) words.insert(words.end(), {"--set", assignment});
  return {.verb = "search", .command = words, .recipe = recipe};
}

// Where there are several ranks: all searches side by side.
void Comparison::search_ahead() {
  PartsAhead ahead(session_, options_.run);
  for (const auto& recipe : options_.comparison.recipes) {
    for (int i = 0; i < options_.stages.seeds; ++i) {
      const int64_t seed = options_.run.seed + i;
      ahead.add(folder_of(recipe, i + 1), start_of(recipe, seed), options_for(recipe, seed));
    }
  }
  ahead.run();
}

void Comparison::run() {
  search_ahead();
  const int seeds = options_.stages.seeds;
  for (const auto& recipe : options_.comparison.recipes) {
    SearchOptions resolved = options_for(recipe, options_.run.seed);
    resolved.resolve();
    Contestant contestant{.recipe = recipe, .judge = resolved.judge};
    for (int i = 0; i < seeds; ++i) {
      const int64_t seed = options_.run.seed + i;
      const SearchOptions one = options_for(recipe, seed);
      const std::string folder = folder_of(recipe, i + 1);
      log::info("{}: search {} of {} (seed {})", recipe, i + 1, seeds, seed);
      session_.part(folder, start_of(recipe, seed), one,
                    [](const SearchOptions& options, Session& part) { search(options, part); });
      const SearchResult result = search_result(session_.directory().path() / folder);
      contestant.found.push_back(result.genotype);
      if (result.valid_top1) contestant.valid_top1.push_back(*result.valid_top1);
      if (result.facts.contains("trials")) {
        contestant.traces.push_back(trace_of(result.facts["trials"], result.genotype.space));
      }
    }
    contestants_.push_back(std::move(contestant));
  }
  write_curves();
}

Json Comparison::figures(const Contestant& contestant) const {
  Json json = {{"searches", contestant.found.size()}};
  if (!contestant.traces.empty()) json["validations"] = contestant.mean_trials();
  if (!contestant.valid_top1.empty()) json["valid_top1"] = spread_json(spread_of(contestant.valid_top1));
  std::vector<std::string> cells;
  for (const auto& genotype : contestant.found) cells.push_back(short_text(genotype));
  json["cells"] = cells;
  if (!table_) return json;
  for (const Measure& measure : test_measures(*table_)) {
    const TableSeries series = table_->series(measure);
    std::vector<double> values, ranks;
    for (const auto& genotype : contestant.found) {
      const auto row = table_->find(genotype);
      if (!row || std::isnan(series.value(*row))) continue;
      values.push_back(series.value(*row));
      ranks.push_back(static_cast<double>(series.rank(*row)));
    }
    if (values.empty()) continue;
    Json& entry = json[measure.name()] = spread_json(spread_of(values));
    entry["regret"] = series.value(series.best()) - entry["mean"].get<double>();
    entry["rank"] = spread_of(ranks).mean;
  }
  return json;
}

Found Comparison::found() const {
  Json comparison = Json::object();
  for (const Contestant& contestant : contestants_) comparison[contestant.recipe] = figures(contestant);
  if (table_) {
    for (const Measure& measure : test_measures(*table_)) {
      const TableSeries series = table_->series(measure);
      comparison["best of all"][measure.name()] = {
          {"mean", series.value(series.best())}, {"deviation", 0.0}, {"regret", 0.0}};
    }
  }
  // Accuracies are compared only where every search has one, and by the same judge.
  const bool measured = std::all_of(contestants_.begin(), contestants_.end(), [&](const Contestant& contestant) {
    return contestant.valid_top1.size() == contestant.found.size() && contestant.judge == contestants_[0].judge;
  });
  const Contestant* best = &contestants_.front();
  size_t place = 0;
  for (const Contestant& contestant : contestants_) {
    for (size_t i = 0; measured && i < contestant.found.size(); ++i) {
      if (contestant.valid_top1[i] > best->valid_top1[place]) best = &contestant, place = i;
    }
  }
  Found found{.genotype = best->found[place], .facts = {{"comparison", std::move(comparison)}}};
  if (measured) found.valid_top1 = best->valid_top1[place];
  found.facts["chosen"] = {
      {"recipe", best->recipe},
      {"seed", options_.run.seed + static_cast<int64_t>(place)},
      {"by", measured ? "the highest validation accuracy" : "being the first: not all were validated by one judge"}};
  return found;
}

void Comparison::write_curves() const {
  const ComparisonOptions& files = options_.comparison;
  if (files.plot.empty() && files.csv.empty()) return;
  double budget = 0;
  for (const auto& recipe : files.recipes) budget = std::max(budget, options_for(recipe, 1).judging.budget);
  for (const Contestant& contestant : contestants_) {
    for (const SearchTrace& trace : contestant.traces) budget = std::max(budget, trace.trials.back().seconds);
  }
  write_comparison_curves(contestants_, *table_, budget, files.plot, files.csv);
}

}  // namespace nascent
