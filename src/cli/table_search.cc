#include "nascent/cli/table_search.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "nascent/core/error.h"
#include "nascent/core/files.h"
#include "nascent/core/interrupt.h"
#include "nascent/core/log.h"
#include "nascent/core/progress.h"
#include "nascent/core/text.h"
#include "nascent/run/figure.h"
#include "nascent/table/table_rank.h"

namespace nascent {

void TableSearchOptions::declare(OptionTable& table) {
  const auto known = Strategy::Registry::instance().names();
  auto section = table.section("search", "search, compare: which strategies run, and how often.");
  section.add("strategy", strategy, "search: the strategy").one_of(known);
  section.add("strategies", strategies, "compare: the strategies; of " + join(known, ", "));
  section.add("seed", seed, "of the search, or of the first run").at_least(0);
  section.add("runs", runs, "compare: runs of each strategy, with successive seeds").range(1, 1e6);
  section.add("plot", plot, "compare: write accuracy against cost, mean and deviation, to this .svg file");
  section.add("csv", csv, "compare: write the curves to this .csv file");
  clock.declare(table);
  settings.declare(table);
  table.section("strategy", "")
      .add("metrics", settings.metrics,
           "hnas: CSV file with the training-free metrics of the architectures to choose from");
}

namespace {

// BOHB is only itself where the table has several budgets; people should know which.
void mention_fidelities(const BenchmarkTable& table, const TableSearchOptions& options, const std::string& strategy) {
  if (strategy != "bohb") return;
  std::vector<std::string> budgets;
  for (const Budget& budget : setting_for(table, options.clock, options.settings, 0).fidelities) {
    budgets.push_back(budget.text());
  }
  log::info("bohb: validations after {} epochs, what the table has for {}.", join(budgets, ", "), options.clock.data);
}

Json trial_json(const BenchmarkTable& table, const Trial& trial) {
  return {{"seconds", trial.seconds},
          {"epochs", trial.proposal.budget.text()},
          {"valid", trial.accuracy},
          {"architecture", table.describe(table.row(trial.proposal.genotype))}};
}

}  // namespace

void add_table_ranks(Json& result, const BenchmarkTable& table, const Genotype& genotype) {
  if (const auto row = table.find(genotype)) {
    result["table"] = final_table_ranks(table, *row);
  } else {
    log::warning("{} has no row for the cell that was found.", table.path().string());
  }
}

void print_table_ranks(const Invocation& invocation, const Json& table_ranks) {
  for (const auto& [data, place] : table_ranks.items()) {
    if (!place.contains("test")) continue;
    invocation.print(fmt::format("{:<12} test {:.2f} % after {} epochs, rank {} of {}, regret {:.2f}", data,
                                 place["test"].get<double>(), place["epochs"].get<int>(), place["rank"].get<size_t>(),
                                 place["of"].get<size_t>(), place["regret"].get<double>()));
  }
}

Json search_on_table(const Invocation& invocation, const BenchmarkTable& table, const TableSearchOptions& options) {
  if (options.strategies != TableSearchOptions().strategies) {
    fail("nascent table search takes one --strategy; --strategies is for 'nascent table compare'.");
  }
  mention_fidelities(table, options, options.strategy);
  const SearchTrace trace =
      search_table(table, options.strategy, options.clock, options.settings, static_cast<uint64_t>(options.seed));
  if (trace.trials.empty()) {
    fail("No validation ends within {} s; give a larger --budget.", options.clock.budget);
  }
  Json improvements = Json::array();
  invocation.print(fmt::format("{:>10} {:>8} {:>8}  {}", "seconds", "epochs", "valid", "new best"));
  for (size_t i = 0; i < trace.trials.size(); ++i) {
    const Trial& trial = trace.trials[i];
    if (trial.incumbent != i) continue;
    improvements.push_back(trial_json(table, trial));
    invocation.print(fmt::format("{:>10.0f} {:>8} {:>8.2f}  {}", trial.seconds, trial.proposal.budget.text(),
                                 trial.accuracy, improvements.back()["architecture"].get<std::string>()));
  }
  const size_t row = table.row(trace.incumbent()->proposal.genotype);
  const Json ranks = final_table_ranks(table, row);
  invocation.print(
      fmt::format("\n{} validations in {:.0f} s. What was found:", trace.trials.size(), trace.trials.back().seconds));
  print_table_ranks(invocation, ranks);
  return {{"strategy", options.strategy},           {"trials", trace.trials.size()},
          {"seconds", trace.trials.back().seconds}, {"improvements", improvements},
          {"architecture", table.describe(row)},    {"standings", ranks}};
}

namespace {

std::vector<Contestant> run_all(const BenchmarkTable& table, const TableSearchOptions& options) {
  std::vector<Contestant> contestants;
  Progress progress("compare", static_cast<int64_t>(options.strategies.size()) * options.runs);
  for (const std::string& strategy : options.strategies) {
    std::vector<SearchTrace> runs;
    for (int run = 0; run < options.runs; ++run) {
      runs.push_back(
          search_table(table, strategy, options.clock, options.settings, static_cast<uint64_t>(options.seed + run)));
      if (runs.back().trials.empty()) {
        fail("{}: no validation ends within {} s; give a larger --budget.", strategy, options.clock.budget);
      }
      progress.advance(1, strategy);
      if (interrupt_requested()) throw Interrupted();
    }
    contestants.emplace_back(strategy, std::move(runs));
  }
  return contestants;
}

// Mean and deviation of a measure at `points` moments, evenly spaced up to the budget.
Curve curve_of(const Contestant& contestant, const BenchmarkTable& table, const TableSeries& series, double budget,
               int points) {
  Curve curve{.name = contestant.name(), .points = {}};
  for (int i = 1; i <= points; ++i) {
    const double seconds = budget * i / points;
    const auto values = contestant.values_after(seconds, table, series);
    if (values.empty()) continue;
    const auto [mean, deviation] = spread_of(values);
    curve.points.emplace_back(seconds, mean);
    curve.band.emplace_back(mean - deviation, mean + deviation);
  }
  return curve;
}

std::vector<FigurePanel> panels_of(const std::vector<Contestant>& contestants, const BenchmarkTable& table,
                                   const TableSearchOptions& options) {
  constexpr int kPoints = 40, kFirst = 2;  // what the first moments look like is chance
  std::vector<FigurePanel> panels;
  for (const Measure& measure : test_measures(table)) {
    const TableSeries series = table.series(measure);
    FigurePanel panel{.title = measure.data,
                      .x = "seconds on the table's clock",
                      .y = fmt::format("test accuracy after {} epochs (%)", measure.budget.text()),
                      .plot = {.curves = {}, .width = 380, .height = 250}};
    for (const Contestant& contestant : contestants) {
      Curve curve = curve_of(contestant, table, series, options.clock.budget, kPoints);
      const auto late = std::find_if(curve.points.begin(), curve.points.end(), [&](const auto& point) {
        return point.first >= kFirst * options.clock.budget / kPoints;
      });
      curve.band.erase(curve.band.begin(), curve.band.begin() + (late - curve.points.begin()));
      curve.points.erase(curve.points.begin(), late);
      panel.plot.curves.push_back(std::move(curve));
    }
    panels.push_back(std::move(panel));
  }
  return panels;
}

std::string csv_text(const std::vector<FigurePanel>& panels) {
  std::string text = "data,strategy,seconds,mean,deviation\n";
  for (const FigurePanel& panel : panels) {
    for (const Curve& curve : panel.plot.curves) {
      for (size_t i = 0; i < curve.points.size(); ++i) {
        const auto& [seconds, mean] = curve.points[i];
        text += fmt::format("{},{},{:.0f},{:.4f},{:.4f}\n", panel.title, curve.name, seconds, mean,
                            curve.band[i].second - mean);
      }
    }
  }
  return text;
}

void write_curves(const std::vector<FigurePanel>& panels, const TableSearchOptions& options) {
  if (!options.csv.empty()) write_file(options.csv, csv_text(panels));
  if (options.plot.empty()) return;
  const auto figure = draw_figure(panels);
  if (!figure) fail("--plot: gnuplot did not run; install the package gnuplot-nox.");
  write_file(options.plot, *figure);
}

Json print_results(const Invocation& invocation, const std::vector<Contestant>& contestants,
                   const BenchmarkTable& table, double budget) {
  const std::vector<Measure> measures = test_measures(table);
  std::string header = fmt::format("{:<13} {:>11}", "strategy", "validations");
  for (const Measure& measure : measures) header += fmt::format(" {:>17} {:>7}", measure.data, "regret");
  invocation.print(header);
  Json result = Json::object();
  const auto line = [&](const std::string& name, const std::string& trials, auto spread_on) {
    std::string text = fmt::format("{:<13} {:>11}", name, trials);
    for (const Measure& measure : measures) {
      const TableSeries series = table.series(measure);
      const Spread spread = spread_on(series);
      const double regret = series.value(series.best()) - spread.mean;
      text += fmt::format(" {:>8.2f} ± {:>6.2f} {:>7.2f}", spread.mean, spread.deviation, regret);
      result[name][measure.name()] = {{"mean", spread.mean}, {"deviation", spread.deviation}, {"regret", regret}};
    }
    invocation.print(text);
  };
  for (const Contestant& contestant : contestants) {
    line(contestant.name(), fmt::format("{:.1f}", contestant.mean_trials()),
         [&](const TableSeries& series) { return spread_of(contestant.values_after(budget, table, series)); });
    result[contestant.name()]["validations"] = contestant.mean_trials();
  }
  line("best of all", "", [&](const TableSeries& series) { return Spread{series.value(series.best()), 0}; });
  return result;
}

}  // namespace

Json compare_on_table(const Invocation& invocation, const BenchmarkTable& table, const TableSearchOptions& options) {
  if (options.strategy != TableSearchOptions().strategy) {
    fail(
        "nascent table compare takes --strategies, such as --strategies {},random; --strategy is for 'nascent table "
        "search'.",
        options.strategy);
  }
  if (options.strategies.empty()) fail("nascent table compare: --strategies is empty.");
  if (std::set(options.strategies.begin(), options.strategies.end()).size() != options.strategies.size()) {
    fail("nascent table compare: --strategies names one twice: {}.", join(options.strategies, ", "));
  }
  if (!options.plot.empty() && !options.plot.ends_with(".svg")) {
    fail("--plot {}: the name must end in .svg.", options.plot);
  }
  for (const std::string& strategy : options.strategies) {
    Strategy::Registry::instance().at(strategy);
    mention_fidelities(table, options, strategy);
  }
  const std::vector<Contestant> contestants = run_all(table, options);
  write_curves(panels_of(contestants, table, options), options);
  invocation.print(
      fmt::format("{} runs each; searched on {} by validation accuracy after {} epochs, for {:.0f} s. "
                  "Test accuracy (%) of what was found, mean ± deviation:",
                  options.runs, options.clock.data, options.clock.epochs, options.clock.budget));
  return print_results(invocation, contestants, table, options.clock.budget);
}

}  // namespace nascent
