#include "nascent/run/grid_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "nascent/core/text.h"

namespace nascent {
namespace {

struct Span {
  double low = INFINITY, high = -INFINITY;
  void include(double value) {
    if (std::isfinite(value)) low = std::min(low, value), high = std::max(high, value);
  }
  bool empty() const { return !(low <= high); }
  // With room at the borders, and never of no width.
  Span padded(double share) const {
    const double width = high > low ? high - low : std::max(1e-12, std::abs(high));
    return {low - share * width, high + share * width};
  }
};

// A drawing there is, come what may: the caller counts them.
constexpr const char* kNothing = "set xrange [0:1]\nset yrange [0:1]\nplot NaN\n";

std::string axes() {
  return fmt::format("set border 3 lc {0} lw 0.7\nset tics nomirror out scale 0.4 textcolor {0}\nunset key\n",
                     axis_colour());
}

double shown(const GridPlot& plot, double value) {
  if (!(plot.most > 0) || value <= plot.most) return value;
  return plot.kind == GridPlot::Kind::contour ? NAN : plot.most;
}

std::string grid_data(const GridPlot& plot, Span& values) {
  std::string data = "$grid << EOD\n";
  for (size_t j = 0; j < plot.y.size(); ++j) {
    for (size_t i = 0; i < plot.x.size(); ++i) {
      const double value = shown(plot, plot.values[j * plot.x.size() + i]);
      values.include(value);
      data += std::isfinite(value) ? fmt::format("{} {} {}\n", plot.x[i], plot.y[j], value)
                                   : fmt::format("{} {} NaN\n", plot.x[i], plot.y[j]);
    }
    data += "\n";  // a blank line ends a row of the grid
  }
  return data + "EOD\n";
}

std::string contour_script(const GridPlot& plot, const Span& values) {
  const double step = (values.high - values.low) / (plot.levels + 1);
  return fmt::format(
      "set view map\nset contour base\nunset surface\nunset clabel\nset cntrparam levels incremental {},{},{}\n"
      "set cntrlabel onecolor\nsplot $grid using 1:2:3 with lines lc palette lw 1.3\n",
      values.low + step / 2, step, values.high);
}

std::string heat_script() { return "set view map\nsplot $grid using 1:2:3 with pm3d\n"; }

std::string surface_script(const Span& values) {
  return fmt::format(
      "set view 55,35,1,1.1\nset ticslevel 0.05\nset zrange [{}:{}]\nset border 31 lc {} lw 0.7\nset pm3d depthorder "
      "border lc rgb '#00000000' lw 0.2\nset pm3d lighting primary 0.4 specular 0.1\nunset colorbox\n"
      "splot $grid using 1:2:3 with pm3d\n",
      values.low, values.high > values.low ? values.high : values.low + 1, axis_colour());
}

}  // namespace

GnuplotScript script_of(const GridPlot& plot) {
  Span values;
  const std::string data = grid_data(plot, values);
  const bool flat = plot.x.size() < 2 || plot.y.size() < 2;
  if (values.empty() || flat) return {axes() + kNothing, plot.width, plot.height};
  if (values.high <= values.low) values.high = values.low + 1;
  std::string script = axes() + palette_script() +
                       fmt::format(
                           "set xrange [{}:{}]\nset yrange [{}:{}]\nset cbrange [{}:{}]\n"
                           "set colorbox noborder\nset xtics {}\nset ytics {}\nset datafile missing 'NaN'\n",
                           plot.x.front(), plot.x.back(), plot.y.front(), plot.y.back(), values.low, values.high,
                           (plot.x.back() - plot.x.front()) / 4, (plot.y.back() - plot.y.front()) / 4);
  switch (plot.kind) {
    case GridPlot::Kind::contour:
      script += data + contour_script(plot, values);
      break;
    case GridPlot::Kind::heat:
      script += data + heat_script();
      break;
    case GridPlot::Kind::surface:
      script += data + surface_script(values);
      break;
  }
  return {script, plot.width, plot.height};
}

GnuplotScript script_of(const ScatterPlot& plot) {
  std::string data;
  std::vector<std::string> commands;
  Span x, y;
  for (size_t g = 0; g < plot.groups.size(); ++g) {
    std::string rows;
    for (const auto& [px, py] : plot.groups[g].points) {
      if (!std::isfinite(px) || !std::isfinite(py)) continue;
      rows += fmt::format("{} {}\n", px, py);
      x.include(px);
      y.include(py);
    }
    if (rows.empty()) continue;
    data += fmt::format("$group{} << EOD\n{}EOD\n", g, rows);
    commands.push_back(fmt::format("$group{} using 1:2 with points pt 7 ps {} lc {}", g,
                                   plot.groups[g].points.size() > 300 ? 0.18 : 0.45, curve_colour(g)));
  }
  if (commands.empty()) return {axes() + kNothing, plot.width, plot.height};
  const Span shown_x = x.padded(0.04), shown_y = y.padded(0.04);
  return {axes() +
              fmt::format("set grid lt 1 lc {} lw 0.7\nset xrange [{}:{}]\nset yrange [{}:{}]\n", grid_colour(),
                          shown_x.low, shown_x.high, shown_y.low, shown_y.high) +
              data + "plot " + join(commands, ", ") + "\n",
          plot.width, plot.height};
}

GnuplotScript script_of(const BarPlot& plot) {
  std::string data;
  std::vector<std::string> bars, errors;
  Span y;
  if (plot.from_zero) y.include(0);
  for (size_t i = 0; i < plot.bars.size(); ++i) {
    const BarPlot::Bar& bar = plot.bars[i];
    if (!std::isfinite(bar.value)) continue;
    y.include(bar.value - bar.error);
    y.include(bar.value + bar.error);
    data += fmt::format("$bar{} << EOD\n{} {} {}\nEOD\n", i, i + 1, bar.value, bar.error);
    bars.push_back(
        fmt::format("$bar{} using 1:2:(0.7) with boxes fs solid 0.85 noborder lc {}", i, curve_colour(bar.colour)));
    if (bar.error > 0) {
      errors.push_back(fmt::format("$bar{} using 1:2:3 with yerrorbars pt 0 lw 1.2 lc {}", i, axis_colour()));
    }
  }
  if (bars.empty()) return {axes() + kNothing, plot.width, plot.height};
  bars.insert(bars.end(), errors.begin(), errors.end());
  const Span shown_y = y.padded(0.08);
  return {axes() +
              fmt::format("set grid ytics lt 1 lc {} lw 0.7\nset xrange [0.3:{}]\nset yrange [{}:{}]\nset xtics 1\n",
                          grid_colour(), static_cast<double>(plot.bars.size()) + 0.7, plot.from_zero ? 0 : shown_y.low,
                          shown_y.high) +
              data + "plot " + join(bars, ", ") + "\n",
          plot.width, plot.height};
}

std::optional<std::string> draw_picture(const std::vector<PicturePanel>& panels,
                                        const std::vector<std::string>& names) {
  std::vector<GnuplotScript> scripts;
  for (const PicturePanel& panel : panels) scripts.push_back(panel.script);
  const auto drawings = run_gnuplot(scripts, Drawing::page);
  if (!drawings || panels.empty()) return std::nullopt;
  std::vector<DrawnPanel> drawn;
  for (size_t i = 0; i < panels.size(); ++i) {
    drawn.push_back(
        {panels[i].title, panels[i].x, panels[i].y, panels[i].script.width, panels[i].script.height, (*drawings)[i]});
  }
  return compose_figure(drawn, names);
}

std::optional<std::string> draw_png(const GnuplotScript& script) {
  const auto pictures = run_gnuplot({script}, Drawing::png);
  return pictures ? std::optional(pictures->front()) : std::nullopt;
}

}  // namespace nascent
