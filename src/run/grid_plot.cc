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

std::string axes(int border = 3) {
  return fmt::format("set border {1} lc {0} lw 0.7\nset tics nomirror out scale 0.4 textcolor {0}\nunset key\n",
                     axis_colour(), border);
}

// 1, 2 or 5 times a power of ten: the smallest that is at least `least`.
double round_step(double least) {
  const double power = std::pow(10, std::floor(std::log10(least)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= least * (1 - 1e-9)) return factor * power;
  }
  return 10 * power;
}

// Contours need the values beyond too: lines stand where they are crossed.
double shown(const GridPlot& plot, double value) {
  const bool whole = !plot.scale || plot.kind == GridPlot::Kind::contour;
  return whole || !std::isfinite(value) ? value : std::clamp(value, plot.scale->low, plot.scale->high);
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

// Over a map: the path, and a ring where it ends or, without one, at the middle. Circles, as in plots: gnuplot's points
// are references to definitions, which several drawings on a page cannot keep apart.
std::string overlay(const GridPlot& plot) {
  if (!plot.points.empty()) {
    std::string data = "$points << EOD\n";
    for (const auto& [x, y] : plot.points) data += fmt::format("{} {}\n", x, y);
    return data + "EOD\n";
  }
  std::string data = "$path << EOD\n";
  for (const auto& [x, y] : plot.path) data += fmt::format("{} {}\n", x, y);
  const auto [x, y] = plot.path.empty()
                          ? std::pair((plot.x.front() + plot.x.back()) / 2, (plot.y.front() + plot.y.back()) / 2)
                          : plot.path.back();
  return data + fmt::format("EOD\n$mark << EOD\n{} {}\nEOD\n", x, y);
}

std::string overlay_command(const GridPlot& plot) {
  if (!plot.points.empty())
    return fmt::format("$points using 1:2 with circles fs solid noborder lc {}", curve_colour(1));
  std::string command = fmt::format("$mark using 1:2 with circles fs empty border lw 1.6 lc {}", curve_colour(1));
  if (!plot.path.empty()) {
    command +=
        fmt::format(", $path using 1:2 with lines lw 1.2 lc {0}, $path using 1:2 with circles fs solid noborder lc {0}",
                    curve_colour(1));
  }
  return command;
}

// Lines at round numbers, as a table that is then drawn flat: maps of gnuplot's own waste half of the space.
std::string contour_script(const GridPlot& plot, const Span& values) {
  const double step = round_step((values.high - values.low) / (plot.levels + 1));
  const double first = std::ceil(values.low / step + 1e-9) * step;
  return fmt::format(
      "set contour base\nunset surface\nset cntrparam levels incremental {},{},{}\nset table $lines\n"
      "splot $grid using 1:2:3\nunset table\nplot $lines using 1:2:3 with lines lw 1.3 lc palette, {}\n",
      first, step, values.high, overlay_command(plot));
}

// A box a point, so that holes stay white.
std::string heat_script(const GridPlot& plot) {
  const auto half = [](const std::vector<double>& places) {
    return 0.505 * (places.back() - places.front()) / static_cast<double>(places.size() - 1);
  };
  return fmt::format("plot $grid using 1:2:({}):({}):3 with boxxyerror fs solid noborder lc palette, {}\n",
                     half(plot.x), half(plot.y), overlay_command(plot));
}

std::string surface_script(const Span& values) {
  return fmt::format(
      "set view 58,35,1,1.25\nset zrange [{0}:{1}]\nset xyplane at {0}\nset ztics {2}\nset border 31 lc {3} lw 0.7\n"
      "set pm3d depthorder border lc rgb '#30000000' lw 0.2\nset pm3d lighting primary 0.25 specular 0.1\n"
      "unset colorbox\nset size noratio\nsplot $grid using 1:2:3 with pm3d\n",
      values.low, values.high, round_step((values.high - values.low) / 5), axis_colour());
}

}  // namespace

GnuplotScript script_of(const GridPlot& plot) {
  Span values;
  const std::string data = grid_data(plot, values);
  const bool flat = plot.x.size() < 2 || plot.y.size() < 2;
  if (values.empty() || flat) return {axes() + kNothing, plot.width, plot.height};
  if (plot.scale) values = {plot.scale->low, plot.scale->high};
  if (values.high <= values.low) values.high = values.low + 1;
  // A map's outermost boxes reach half a step beyond its points.
  const bool heat = plot.kind == GridPlot::Kind::heat;
  const auto margin = [&](const std::vector<double>& places) {
    return heat ? 0.5 * (places.back() - places.front()) / static_cast<double>(places.size() - 1) : 0.0;
  };
  const double beside = margin(plot.x), above = margin(plot.y);
  std::string script =
      axes(15) + palette_script() +
      fmt::format(
          "set xrange [{}:{}]\nset yrange [{}:{}]\nset cbrange [{}:{}]\nset size ratio 1\n"
          "set colorbox noborder\nset xtics {}\nset ytics {}\nset datafile missing 'NaN'\n",
          plot.x.front() - beside, plot.x.back() + beside, plot.y.front() - above, plot.y.back() + above, values.low,
          values.high, round_step((plot.x.back() - plot.x.front()) / 5),
          round_step((plot.y.back() - plot.y.front()) / 5));
  script += "set style circle radius screen 0.012\n" + overlay(plot);
  switch (plot.kind) {
    case GridPlot::Kind::contour:
      script += data + contour_script(plot, values);
      break;
    case GridPlot::Kind::heat:
      script += data + heat_script(plot);
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
      // Not error bars: those leave a hole in the bar where their point would be.
      errors.push_back(
          fmt::format("$bar{} using 1:($2-$3):(0):(2*$3) with vectors heads nofilled size screen 0.01,90 lw 1.2 lc {}",
                      i, axis_colour()));
    }
  }
  if (bars.empty()) return {axes() + kNothing, plot.width, plot.height};
  bars.insert(bars.end(), errors.begin(), errors.end());
  const Span shown_y = y.padded(0.08);
  std::vector<std::string> tics;
  for (const auto& [place, number] : plot.tics) tics.push_back(fmt::format("'{:.2g}' {}", number, place));
  return {axes() +
              fmt::format("set grid ytics lt 1 lc {} lw 0.7\nset xrange [0.3:{}]\nset yrange [{}:{}]\nset xtics {}\n",
                          grid_colour(), static_cast<double>(plot.bars.size()) + 0.7, plot.from_zero ? 0 : shown_y.low,
                          shown_y.high, tics.empty() ? "1" : fmt::format("({})", join(tics, ", "))) +
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
