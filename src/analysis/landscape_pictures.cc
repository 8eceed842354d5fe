#include "nascent/analysis/landscape_pictures.h"

#include <algorithm>
#include <cmath>

#include "nascent/core/files.h"
#include "nascent/run/picture_files.h"

namespace nascent {
namespace {

using Kind = GridPlot::Kind;

constexpr double kMostLoss = 10;  // above the centre's: what lies beyond is as good as infinite

std::vector<double> logarithms(const std::vector<double>& values) {
  std::vector<double> all;
  for (const double value : values) all.push_back(value > 0 ? std::log10(value) : NAN);
  return all;
}

// From the lowest to the highest finite number of all lists.
PlotScale scale_over(const std::vector<std::vector<double>>& lists) {
  PlotScale scale{INFINITY, -INFINITY};
  for (const std::vector<double>& values : lists) {
    for (const double value : finite_of(values)) {
      scale.low = std::min(scale.low, value);
      scale.high = std::max(scale.high, value);
    }
  }
  return scale;
}

// All positive, and some a hundred times others: on a plain scale most of them would look alike.
bool spans_decades(const PlotScale& scale) { return scale.low > 0 && scale.high > 100 * scale.low; }

// A PNG stands alone, so its words are in the drawing: what it shows, where the norms' statistics are from, what runs
// along its axes.
GnuplotScript with_words(GnuplotScript script, bool surface, const std::string& what, const std::string& subtitle) {
  const std::string colour = axis_colour();
  script.text =
      fmt::format(
          "set encoding utf8\nset title \"{}\\n{}\" font ',8' textcolor {}\nset xlabel 'α' textcolor {}\nset ylabel "
          "'β'{} textcolor {}\n",
          what, subtitle, colour, colour, surface ? "" : " norotate", colour) +
      script.text;
  script.height += 60;
  return script;
}

// A grid's values, drawn in one way or several side by side, and what the caption begins with.
struct GridDrawing {
  std::string name, caption;
  std::vector<double> values;
  PlotScale scale;
  bool maps = true, surface = false, log = false;

  std::vector<Kind> kinds() const {
    std::vector<Kind> all;
    if (maps) all = {Kind::contour, Kind::heat};
    if (surface) all.push_back(Kind::surface);
    return all;
  }
  // A surface by itself is one that the report lets turn.
  bool turns() const { return !maps; }
};

PicturePanel grid_panel(const LossGrid& grid, const GridScene& scene, const GridDrawing& drawing, Kind kind) {
  const GridPlot plot{
      .kind = kind, .x = grid.places, .y = grid.places, .values = drawing.values, .scale = drawing.scale};
  const GnuplotScript script = script_of(plot);
  const GnuplotScript alone = with_words(script, kind == Kind::surface, drawing.caption, scene.subtitle);
  if (kind == Kind::surface) {
    return {drawing.turns() ? scene.title : "", fmt::format("α to the right, β to the back; {}", scene.subtitle), "",
            script, alone};
  }
  return {kind == Kind::contour ? scene.title : scene.subtitle, "α", "β", script, alone};
}

std::vector<ReportPicture> write_all(const std::filesystem::path& folder, const LossGrid& grid, const GridScene& scene,
                                     const std::vector<GridDrawing>& drawings) {
  std::vector<ReportPicture> pictures;
  for (const GridDrawing& one : drawings) {
    const std::string name = scene.file + "-" + one.name;
    std::vector<PicturePanel> panels;
    for (const Kind kind : one.kinds()) panels.push_back(grid_panel(grid, scene, one, kind));
    if (!write_picture(folder / name, panels)) return pictures;
    pictures.push_back({.group = scene.group,
                        .file = name + ".svg",
                        .caption = one.caption + " " + scene.facts,
                        .surface = one.turns() ? scene.file + ".csv" : "",
                        .log = one.log});
  }
  return pictures;
}

}  // namespace

LandscapeScales common_scales(const std::vector<LossGrid>& grids) {
  std::vector<std::vector<double>> loss, log_loss, accuracy;
  double least = INFINITY, most = -INFINITY;
  for (const LossGrid& grid : grids) {
    loss.push_back(grid.loss);
    log_loss.push_back(logarithms(grid.loss));
    accuracy.push_back(grid.top1);
    least = std::min(least, grid.centre());
    most = std::max(most, grid.centre() + kMostLoss);
  }
  LandscapeScales scales{scale_over(loss), scale_over(log_loss), scale_over(accuracy)};
  // The centre need not be a point of the grid, and all of these may lie beyond.
  scales.loss = {std::min(scales.loss.low, least), std::min(scales.loss.high, most)};
  return scales;
}

std::vector<ReportPicture> draw_landscape(const std::filesystem::path& folder, const LossGrid& grid,
                                          const GridScene& scene, const LandscapeScales& scales) {
  write_file(folder / (scene.file + ".csv"), grid_csv(grid));
  const std::vector<double> log = logarithms(grid.loss);
  return write_all(folder, grid, scene,
                   {{"surface", "Log-loss (base 10)", log, scales.log_loss, false, true, true},
                    {"loss", "Loss", grid.loss, scales.loss, true, true},
                    {"log-loss", "Log-loss (base 10)", log, scales.log_loss},
                    {"accuracy", "Accuracy (%)", grid.top1, scales.accuracy, true, true}});
}

QuantityScale common_scale(const std::vector<LossGrid>& grids) {
  std::vector<std::vector<double>> values;
  for (const LossGrid& grid : grids) values.push_back(grid.loss);
  const PlotScale plain = scale_over(values);
  if (!spans_decades(plain)) return {false, plain};
  return {true, {std::log10(plain.low), std::log10(plain.high)}};
}

std::vector<ReportPicture> draw_quantity(const std::filesystem::path& folder, const LossGrid& grid,
                                         const GridScene& scene, const std::string& what, const QuantityScale& scale) {
  const std::vector<double> values = scale.log ? logarithms(grid.loss) : grid.loss;
  const std::string caption = scale.log ? what + " (log base 10)" : what;
  return write_all(
      folder, grid, scene,
      {{"surface", caption, values, scale.values, false, true, scale.log}, {"map", caption, values, scale.values}});
}

std::vector<ReportPicture> draw_density(const std::filesystem::path& folder, const SpectrumResult& found,
                                        const GridScene& scene) {
  constexpr double kLeastDensity = 1e-7;  // what is drawn as nothing
  if (found.nodes.empty()) return {};
  std::string table = "eigenvalue,weight\n";
  for (size_t i = 0; i < found.nodes.size(); ++i) table += fmt::format("{},{}\n", found.nodes[i], found.weights[i]);
  write_file(folder / (scene.file + ".csv"), table);
  Curve curve{"density", {}};
  for (const auto& [place, density] : found.smoothed(found.smoothing_width(), 400)) {
    curve.points.emplace_back(place, std::log10(std::max(density, kLeastDensity)));
  }
  FigurePanel panel{scene.title, "eigenvalue", "log10 of the density", {{curve}}};
  panel.plot.width = 520, panel.plot.height = 240, panel.plot.whole = false;
  if (!write_picture(folder / scene.file, std::vector{panel})) return {};
  return {
      {.group = scene.group, .file = scene.file + ".svg", .caption = "Spectral density of the Hessian " + scene.facts}};
}

}  // namespace nascent
