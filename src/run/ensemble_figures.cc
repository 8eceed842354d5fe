#include "nascent/run/ensemble_figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "nascent/core/csv_field.h"
#include "nascent/core/files.h"
#include "nascent/core/text.h"
#include "nascent/run/cell_gallery.h"
#include "nascent/run/grid_plot.h"
#include "nascent/run/heat_table.h"
#include "nascent/run/html.h"
#include "nascent/run/plot_picture.h"
#include "nascent/run/reliability_diagram.h"
#include "nascent/run/site_names.h"

namespace nascent {
namespace {

double number(const Json& json, const char* key) { return json.at(key).get<double>(); }

// The best known figures of the result: on test images, on held-out ones, as estimated.
const Json* main_figures(const Json& result) {
  for (const char* key : {"test", "figures", "valid", "estimated"}) {
    if (result.contains(key)) return &result.at(key);
  }
  return nullptr;
}

EnsembleFigure heat_figure(const std::string& name, const std::string& title, const std::string& y,
                           const HeatTable& heat, const std::string& corner) {
  return {name, heat_panel(heat, title, y), {}, heat_csv(heat, corner), [heat] { return draw_png(heat_script(heat)); }};
}

std::string drawn_plot(const Plot& plot) {
  const auto drawings = draw_plots({plot});
  return drawings ? drawings->front() : "";
}

std::vector<std::string> names_of(const Plot& plot) {
  std::vector<std::string> names;
  for (const Curve& curve : plot.curves) names.push_back(curve.name);
  return names;
}

EnsembleFigure plot_figure(const std::string& name, const std::string& title, const std::string& x,
                           const std::string& y, const Plot& plot) {
  return {name, DrawnPanel{title, x, y, plot.width, plot.height, drawn_plot(plot)}, names_of(plot),
          curves_csv(plot, x, y), [plot] { return draw_png(script_of(plot)); }};
}

EnsembleFigure script_figure(const std::string& name, const DrawnPanel& panel, const GnuplotScript& script,
                             std::vector<std::string> legend, std::string csv) {
  DrawnPanel drawn = panel;
  drawn.width = script.width;
  drawn.height = script.height;
  if (const auto drawings = run_gnuplot({script}, Drawing::page)) drawn.svg = drawings->front();
  return {name, drawn, std::move(legend), std::move(csv), [script] { return draw_png(script); }};
}

EnsembleFigure reliability_figure(const std::string& name, const std::string& title, const Json& bins) {
  constexpr int kSide = 240;
  std::string csv = "bin,images,confidence,accuracy\n";
  BarPlot bars{.bars = {}, .from_zero = true};
  for (size_t i = 0; i < bins.size(); ++i) {
    csv += fmt::format("{},{},{},{}\n", i + 1, bins[i].at("images").get<int64_t>(), number(bins[i], "confidence"),
                       number(bins[i], "accuracy"));
    bars.bars.push_back({"", number(bins[i], "accuracy"), 0, 0});
  }
  const DrawnPanel panel{title,      "confidence", "accuracy; the dashed line is perfect calibration",
                         kSide + 50, kSide + 36,   reliability_svg(bins, kSide)};
  return {name, panel, {}, csv, [bars] { return draw_png(script_of(bars)); }};
}

EnsembleFigure disagreement_figure(const Json& figures) {
  HeatTable heat;
  heat.values = figures.at("disagreements").get<std::vector<std::vector<double>>>();
  heat.top = 0;
  heat.format = "{:.1f}";
  for (size_t i = 0; i < heat.values.size(); ++i) {
    heat.rows.push_back(fmt::format("member {}", i + 1));
    heat.columns.push_back(fmt::format("member {}", i + 1));
    heat.top = std::max(heat.top, *std::max_element(heat.values[i].begin(), heat.values[i].end()));
  }
  return heat_figure("disagreement", "Disagreement", "percent of the images that two members call differently", heat,
                     "member");
}

EnsembleFigure rounds_figure(const Json& trace) {
  Plot plot;
  plot.curves = {{"loss", {}}, {"best so far", {}}};
  for (const Json& line : trace) {
    plot.curves[0].points.emplace_back(number(line, "round"), number(line, "loss"));
    plot.curves[1].points.emplace_back(number(line, "round"), number(line, "best"));
  }
  return plot_figure("rounds", "Estimated loss by round", "round", "negative log-likelihood on held-out images", plot);
}

// SVGD-RD: what each delta that was tried came to, a curve a round.
EnsembleFigure delta_figure(const Json& trace) {
  Plot plot;
  plot.whole = false;
  for (const Json& line : trace) {
    Curve curve{fmt::format("round {}", line.at("round").get<int>()), {}};
    for (const Json& trial : line.at("deltas"))
      curve.points.emplace_back(number(trial, "delta"), number(trial, "loss"));
    std::sort(curve.points.begin(), curve.points.end());
    plot.curves.push_back(std::move(curve));
  }
  return plot_figure("delta", "Estimated loss by δ", "δ", "negative log-likelihood on held-out images", plot);
}

EnsembleFigure posterior_figure(const std::string& type, const Json& cell, const Json& ops, const std::string& space) {
  HeatTable heat;
  heat.columns = ops.get<std::vector<std::string>>();
  heat.values = cell.at("probabilities").get<std::vector<std::vector<double>>>();
  heat.rows = site_names(space, type, heat.values.size());
  // Where a node chooses among its inputs, how probable each is to be kept.
  const auto kept = cell.at("kept").get<std::vector<double>>();
  if (kept.size() == heat.rows.size()) {
    heat.columns.emplace_back("kept");
    for (size_t i = 0; i < heat.rows.size(); ++i) heat.values[i].push_back(kept[i]);
  }
  return heat_figure("posterior-" + type, fmt::format("Posterior, {} cell", type),
                     fmt::format("probabilities; entropy {:.2f} nats", number(cell, "entropy")), heat, "edge");
}

EnsembleFigure fairness_figure(const std::string& type, const Json& cell, const Json& ops, const std::string& space) {
  HeatTable heat;
  heat.columns = ops.get<std::vector<std::string>>();
  heat.top = 2;
  heat.values = cell.at("counts").get<std::vector<std::vector<double>>>();
  const auto expected = cell.at("expected").get<std::vector<double>>();
  for (size_t i = 0; i < heat.values.size(); ++i) {
    for (double& count : heat.values[i]) count /= expected[i];
  }
  heat.rows = site_names(space, type, heat.values.size());
  return heat_figure("fairness-" + type, fmt::format("Fairness, {} cell", type),
                     "steps that trained an operation, over those expected", heat, "edge");
}

Plot curve_with_errors(const Json& points, const char* key, const std::string& name) {
  Plot plot;
  Curve curve{name, {}};
  const std::string error = std::string(key) + "_standard_error";
  for (const Json& point : points) {
    const double value = number(point, key), gap = number(point, error.c_str());
    curve.points.emplace_back(number(point, "members"), value);
    curve.band.emplace_back(value - gap, value + gap);
  }
  plot.curves = {curve};
  return plot;
}

// Every corruption's curve, after the mean of all.
EnsembleFigure corruption_figure(const Json& corrupted, const char* key, const std::string& name,
                                 const std::string& y) {
  Plot plot;
  std::map<double, double> sums;
  for (const auto& [corruption, severities] : corrupted.items()) {
    Curve curve{corruption, {}};
    for (const Json& point : severities) {
      curve.points.emplace_back(number(point, "severity"), number(point, key));
      sums[number(point, "severity")] += number(point, key) / static_cast<double>(corrupted.size());
    }
    plot.curves.push_back(std::move(curve));
  }
  if (plot.curves.size() > 1) plot.curves.insert(plot.curves.begin(), Curve{"mean", Points(sums.begin(), sums.end())});
  plot.height = 240;
  plot.width = 420;
  return plot_figure("corruption-" + name, "Under corruptions", "severity", y, plot);
}

EnsembleFigure plane_figure(const Json& points) {
  ScatterPlot plot;
  std::string csv = "x,y,architecture,trial,member\n";
  for (const Json& point : points) {
    const auto architecture = point.at("architecture").get<size_t>();
    while (plot.groups.size() < architecture) {
      plot.groups.push_back({fmt::format("architecture {}", plot.groups.size() + 1), {}});
    }
    plot.groups[architecture - 1].points.emplace_back(number(point, "x"), number(point, "y"));
    csv += fmt::format("{},{},{},{},{}\n", number(point, "x"), number(point, "y"), architecture,
                       point.at("trial").get<int>(), point.at("member").get<int>());
  }
  std::vector<std::string> names;
  for (const auto& group : plot.groups) names.push_back(group.name);
  return script_figure("tsne", {"Predictions of the members (t-SNE)", "", "a point a trained network", 0, 0, ""},
                       script_of(plot), names, csv);
}

// How many networks err how often.
EnsembleFigure histogram_figure(std::vector<double> errors) {
  constexpr int kBins = 12;
  std::sort(errors.begin(), errors.end());
  const double low = errors.front(), width = std::max((errors.back() - low) / kBins, 0.01);
  std::vector<int> counts(kBins);
  std::string csv = "error\n", rows = "$bins << EOD\n";
  for (const double error : errors) {
    ++counts[static_cast<size_t>(std::clamp(static_cast<int>((error - low) / width), 0, kBins - 1))];
    csv += fmt::format("{}\n", error);
  }
  for (int i = 0; i < kBins; ++i) rows += fmt::format("{} {}\n", low + (i + 0.5) * width, counts[i]);
  const GnuplotScript script{
      fmt::format("set border 3 lc {0} lw 0.7\nset tics nomirror out scale 0.4 textcolor {0}\nunset key\n"
                  "set yrange [0:{1}]\nset ytics 1\nset xrange [{2}:{3}]\n{4}EOD\n"
                  "plot $bins using 1:2:({5}) with boxes fs solid 0.85 noborder lc {6}\n",
                  axis_colour(), *std::max_element(counts.begin(), counts.end()) + 0.5, low - width,
                  low + (kBins + 1) * width, rows, 0.9 * width, curve_colour(0)),
      340, 220};
  return script_figure("errors", {"Errors of single networks", "error (%)", "networks", 0, 0, ""}, script, {}, csv);
}

std::vector<double> single_errors(const Json& result) {
  std::vector<double> errors;
  const auto add = [&](const Json& figures) {
    for (const Json& error : figures.at("member_errors")) errors.push_back(error.get<double>());
  };
  if (result.contains("trials")) {
    for (const Json& trial : result.at("trials")) add(trial.at("figures"));
  } else if (const Json* figures = main_figures(result)) {
    add(*figures);
  }
  return errors;
}

}  // namespace

std::vector<EnsembleFigure> ensemble_pictures(const Json& result, const std::string& space) {
  std::vector<EnsembleFigure> all;
  if (const Json* figures = main_figures(result)) {
    all.push_back(reliability_figure("reliability", "Reliability", figures->at("reliability")));
    if (result.contains("calibrated"))
      all.push_back(reliability_figure("reliability-calibrated", "Reliability, calibrated",
                                       result.at("calibrated").at("reliability")));
    if (figures->at("disagreements").size() > 1) all.push_back(disagreement_figure(*figures));
  }
  if (const auto errors = single_errors(result); errors.size() > 1) all.push_back(histogram_figure(errors));
  if (result.contains("tsne")) all.push_back(plane_figure(result.at("tsne")));
  if (result.contains("curve")) {
    const Json& points = result.at("curve");
    all.push_back(plot_figure("members-error", "Error by number of members", "members", "error (%)",
                              curve_with_errors(points, "error", "error")));
    all.push_back(plot_figure("members-loss", "Loss by number of members", "members", "negative log-likelihood",
                              curve_with_errors(points, "loss", "loss")));
  }
  if (result.contains("corrupted")) {
    all.push_back(corruption_figure(result.at("corrupted"), "error", "error", "error (%)"));
    all.push_back(corruption_figure(result.at("corrupted"), "loss", "loss", "negative log-likelihood"));
    all.push_back(corruption_figure(result.at("corrupted"), "calibration_error", "ece", "calibration error"));
  }
  if (result.contains("trace") && result.at("trace").size() > 1) {
    all.push_back(rounds_figure(result.at("trace")));
    if (result.at("trace")[0].contains("deltas") && result.at("trace")[0].at("deltas").size() > 1)
      all.push_back(delta_figure(result.at("trace")));
  }
  if (result.contains("posterior")) {
    for (const auto& [type, cell] : result.at("posterior").at("cells").items())
      all.push_back(posterior_figure(type, cell, result.at("posterior").at("ops"), space));
  }
  if (result.contains("fairness") && result.at("fairness").is_object()) {
    for (const auto& [type, cell] : result.at("fairness").at("cells").items())
      all.push_back(fairness_figure(type, cell, result.at("fairness").at("ops"), space));
  }
  return all;
}

namespace {

void write_cells(const Json& cells, const std::filesystem::path& folder) {
  std::vector<TitledCell> drawn;
  for (size_t i = 0; i < cells.size(); ++i) {
    for (const CellGenotype& cell : parse_genotype(cells[i].dump(), "json").cells)
      drawn.push_back({fmt::format("member {}  {}", i + 1, cell.type), cell});
  }
  if (drawn.empty() || drawn.size() > 60) return;
  for (const std::string format : {"svg", "png"}) {
    if (const auto picture = draw_cells(drawn, format)) write_file(folder / ("cells." + format), *picture);
  }
}

}  // namespace

void write_ensemble_figures(const Json& result, const std::filesystem::path& folder, const std::string& space) {
  std::filesystem::create_directories(folder);
  for (const EnsembleFigure& figure : ensemble_pictures(result, space)) {
    write_file(folder / (figure.name + ".csv"), figure.csv);
    if (!figure.panel.svg.empty())
      write_file(folder / (figure.name + ".svg"), compose_figure({figure.panel}, figure.legend));
    if (const auto png = figure.png()) write_file(folder / (figure.name + ".png"), *png);
  }
  if (result.contains("cells") && result.at("cells").is_array()) write_cells(result.at("cells"), folder);
}

}  // namespace nascent
