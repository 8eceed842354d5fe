#include "nascent/analysis/landscape_pictures.h"

#include <algorithm>
#include <cmath>

#include "nascent/core/files.h"
#include "nascent/core/log.h"
#include "nascent/run/grid_plot.h"

namespace nascent {
namespace {

using Kind = GridPlot::Kind;

PicturePanel grid_panel(const LossGrid& grid, Kind kind, const std::string& title, std::vector<double> values,
                        double most = 0) {
  const GridPlot plot{.kind = kind, .x = grid.places, .y = grid.places, .values = std::move(values), .most = most};
  const bool surface = kind == Kind::surface;
  return {title, surface ? "α to the right, β to the back" : "α", surface ? "" : "β", script_of(plot)};
}

std::vector<double> logarithms(const std::vector<double>& values) {
  std::vector<double> all;
  for (const double value : values) all.push_back(value > 0 ? std::log10(value) : NAN);
  return all;
}

// All positive, and some a hundred times others: on a plain scale most of them would look alike.
bool spans_decades(const std::vector<double>& values) {
  double low = INFINITY, high = 0;
  for (const double value : values) {
    if (!std::isfinite(value)) continue;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  return low > 0 && high > 100 * low;
}

// A PNG stands alone, so its words are in the drawing: what runs along its axes and what its colours mean. `what` is
// one of this file's own captions; names of models never get into a script.
GnuplotScript with_words(GnuplotScript script, bool surface, const std::string& what) {
  const std::string colour = axis_colour();
  script.text = fmt::format(
                    "set encoding utf8\nset title '{}' textcolor {}\nset xlabel 'α' textcolor {}\nset ylabel 'β'{} "
                    "textcolor {}\n",
                    what, colour, colour, surface ? "" : " norotate", colour) +
                script.text;
  script.height += 40;
  return script;
}

// Writes NAME.svg, and NAME.png of its first panel; false where gnuplot does not run.
bool write_drawing(const std::filesystem::path& folder, const std::string& name,
                   const std::vector<PicturePanel>& panels, bool surface, const std::string& what) {
  const auto picture = draw_picture(panels);
  if (!picture) {
    log::warning("gnuplot could not be run, so there are no pictures, only tables.");
    return false;
  }
  write_file(folder / (name + ".svg"), *picture);
  if (const auto png = draw_png(with_words(panels[0].script, surface, what)))
    write_file(folder / (name + ".png"), *png);
  return true;
}

struct Drawn {
  std::string name, caption;
  std::vector<PicturePanel> panels;
  bool surface = false, log = false;
};

std::vector<ReportPicture> write_all(const std::filesystem::path& folder, const GridScene& scene,
                                     const std::vector<Drawn>& drawn) {
  std::vector<ReportPicture> pictures;
  for (const Drawn& one : drawn) {
    const std::string name = scene.file + "-" + one.name;
    if (!write_drawing(folder, name, one.panels, one.surface, one.caption)) return pictures;
    pictures.push_back({.group = scene.group,
                        .file = name + ".svg",
                        .caption = one.caption + " " + scene.facts,
                        .surface = one.surface ? scene.file + ".csv" : "",
                        .log = one.log});
  }
  return pictures;
}

}  // namespace

std::vector<ReportPicture> draw_landscape(const std::filesystem::path& folder, const LossGrid& grid,
                                          const GridScene& scene) {
  write_file(folder / (scene.file + ".csv"), grid_csv(grid));
  const double most = grid.centre() + 10;  // what lies beyond is as good as infinite
  const std::vector<double> log = logarithms(grid.loss);
  return write_all(
      folder, scene,
      {{"surface", "Log-loss", {grid_panel(grid, Kind::surface, scene.title, log)}, true, true},
       {"loss",
        "Loss",
        {grid_panel(grid, Kind::contour, scene.title, grid.loss, most),
         grid_panel(grid, Kind::heat, scene.subtitle, grid.loss, most)}},
       {"log-loss",
        "Log-loss (base 10)",
        {grid_panel(grid, Kind::contour, scene.title, log), grid_panel(grid, Kind::heat, scene.subtitle, log)}},
       {"accuracy",
        "Accuracy (%)",
        {grid_panel(grid, Kind::contour, scene.title, grid.top1),
         grid_panel(grid, Kind::heat, scene.subtitle, grid.top1)}}});
}

std::vector<ReportPicture> draw_quantity(const std::filesystem::path& folder, const LossGrid& grid,
                                         const GridScene& scene, const std::string& what) {
  const bool log = spans_decades(grid.loss);
  const std::vector<double> values = log ? logarithms(grid.loss) : grid.loss;
  const std::string caption = log ? what + " (log base 10)" : what;
  return write_all(
      folder, scene,
      {{"surface", caption, {grid_panel(grid, Kind::surface, scene.title, values)}, true, log},
       {"map",
        caption,
        {grid_panel(grid, Kind::contour, scene.title, values), grid_panel(grid, Kind::heat, scene.subtitle, values)}}});
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
  const auto picture = draw_figure({panel});
  if (!picture) return {};
  write_file(folder / (scene.file + ".svg"), *picture);
  return {
      {.group = scene.group, .file = scene.file + ".svg", .caption = "Spectral density of the Hessian " + scene.facts}};
}

}  // namespace nascent
