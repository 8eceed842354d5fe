#include "nascent/search/comparison_curves.h"

#include <algorithm>

#include "nascent/core/error.h"
#include "nascent/core/files.h"
#include "nascent/run/figure.h"

namespace nascent {
namespace {

// Mean and deviation of a measure at `points` moments, evenly spaced up to the budget.
Curve curve_of(const Contestant& contestant, const BenchmarkTable& table, const TableSeries& series, double budget,
               int points) {
  Curve curve{.name = contestant.recipe, .points = {}};
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
                                   double budget) {
  constexpr int kPoints = 40, kFirst = 2;  // what the first moments look like is chance
  std::vector<FigurePanel> panels;
  for (const Measure& measure : test_measures(table)) {
    const TableSeries series = table.series(measure);
    FigurePanel panel{.title = measure.data,
                      .x = "seconds on the table's clock",
                      .y = fmt::format("test accuracy after {} epochs (%)", measure.budget.text()),
                      .plot = {.curves = {}, .width = 380, .height = 250}};
    for (const Contestant& contestant : contestants) {
      if (contestant.traces.empty()) continue;
      Curve curve = curve_of(contestant, table, series, budget, kPoints);
      const auto late = std::find_if(curve.points.begin(), curve.points.end(),
                                     [&](const auto& point) { return point.first >= kFirst * budget / kPoints; });
      curve.band.erase(curve.band.begin(), curve.band.begin() + (late - curve.points.begin()));
      curve.points.erase(curve.points.begin(), late);
      panel.plot.curves.push_back(std::move(curve));
    }
    panels.push_back(std::move(panel));
  }
  return panels;
}

std::string csv_text(const std::vector<FigurePanel>& panels) {
  std::string text = "data,recipe,seconds,mean,deviation\n";
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

}  // namespace

void write_comparison_curves(const std::vector<Contestant>& contestants, const BenchmarkTable& table, double budget,
                             const std::string& plot, const std::string& csv) {
  const std::vector<FigurePanel> panels = panels_of(contestants, table, budget);
  if (!csv.empty()) write_file(csv, csv_text(panels));
  if (plot.empty()) return;
  const auto figure = draw_figure(panels);
  if (!figure) fail("--plot: gnuplot did not run; install the package gnuplot-nox.");
  write_file(plot, *figure);
}

}  // namespace nascent
