#include "nascent/run/plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "nascent/core/csv_field.h"
#include "nascent/core/text.h"
#include "nascent/run/html.h"
#include "nascent/run/plot_picture.h"
#include "nascent/run/plot_range.h"

namespace nascent {
namespace {

// A curve without the points that cannot be drawn.
Curve drawable_curve(const Curve& curve) {
  Curve kept{.name = curve.name, .points = {}};
  for (size_t i = 0; i < curve.points.size(); ++i) {
    const auto& [x, y] = curve.points[i];
    const auto& [low, high] = curve.band.empty() ? std::pair(y, y) : curve.band[i];
    const auto numbers = {x, y, low, high};
    if (!std::all_of(numbers.begin(), numbers.end(), PlotRange::drawable)) continue;
    kept.points.push_back(curve.points[i]);
    if (!curve.band.empty()) kept.band.emplace_back(low, high);
  }
  return kept;
}

PlotRange shown_across(const PlotRange& x) { return x.widened(0.02, 0.5); }

// Where the axes lie in a drawing, as parts of its width.
struct Box {
  double left, right;
};
Box box_of(const Plot& plot) {
  const double label = plot.small ? 26 : 48, gap = plot.small ? 8 : 10;
  return {label / plot.width, 1 - gap / plot.width};
}

std::string axes(const Plot& plot, const PlotRange& x, const PlotRange& y) {
  const PlotRange shown_x = shown_across(x);
  const PlotRange shown_y = plot.top > 0 ? PlotRange{0, plot.top} : y.widened(0.05, 0.5);
  std::string script =
      fmt::format("set xrange [{}:{}]\nset yrange [{}:{}]\n", shown_x.low, shown_x.high, shown_y.low, shown_y.high);
  if (plot.small) {
    const std::string ends = x.flat() ? fmt::format("{}", x.low) : fmt::format("{}, {}", x.low, x.high);
    return script + fmt::format("set xtics ({})\nset ytics (0, {})\n", ends, plot.top);
  }
  return script + fmt::format("set xtics {}\nset ytics {}\n", std::max(plot.whole ? 1.0 : 0.0, shown_x.tic_distance()),
                              shown_y.tic_distance());
}

std::string colour_of(size_t index) { return "lc " + curve_colour(index); }

std::string band_command(size_t index, size_t colour) {
  return fmt::format("$data{} using 1:3:4 with filledcurves fs transparent solid 0.1 noborder {}", index,
                     colour_of(colour));
}

std::string curve_command(size_t index, size_t colour, bool dashed, const Points& points) {
  std::string command =
      fmt::format("$data{} with lines lw 1.6 {}{}", index, colour_of(colour), dashed ? " dt (10,6)" : "");
  if (points.size() <= 30) {
    command += fmt::format(", $data{0} using 1:2 with circles fs solid noborder {1}", index, colour_of(colour));
  }
  return command;
}

std::string commands_of(const Plot& plot) {
  std::string data;
  std::vector<std::string> bands, curves;
  PlotRange x, y;
  for (size_t i = 0; i < plot.curves.size(); ++i) {
    const Curve curve = drawable_curve(plot.curves[i]);
    if (curve.points.empty()) continue;
    data += fmt::format("$data{} << EOD\n", i);
    for (size_t p = 0; p < curve.points.size(); ++p) {
      const auto& [px, py] = curve.points[p];
      data += fmt::format("{} {}", px, py);
      x.include(px);
      y.include(py);
      if (!curve.band.empty()) {
        const auto& [low, high] = curve.band[p];
        data += fmt::format(" {} {}", low, high);
        y.include(low);
        y.include(high);
      }
      data += "\n";
    }
    data += "EOD\n";
    if (!curve.band.empty()) bands.push_back(band_command(i, colour_index(plot, i)));
    curves.push_back(curve_command(i, colour_index(plot, i), is_dashed(plot, i), curve.points));
  }
  // A drawing per plot, come what may: the caller counts them.
  if (curves.empty()) return "set xrange [0:1]\nset yrange [0:1]\nplot NaN\n";
  bands.insert(bands.end(), curves.begin(), curves.end());  // lines over what is shaded
  return data + axes(plot, x, y) + "plot " + join(bands, ", ") + "\n";
}

std::string preamble(const Plot& plot) {
  return fmt::format(
      "set style circle radius screen 0.009\nset border 1 lc {0} lw 0.7\n"
      "set tics nomirror out scale 0.4 textcolor {0}\nset xtics offset 0,0.3\n"
      "set grid ytics lt 1 lc {1} lw 0.7\nunset key\nset lmargin at screen {2}\nset rmargin at screen {3}\n{4}",
      axis_colour(), grid_colour(), box_of(plot).left, box_of(plot).right,
      plot.small ? "set tmargin 0.6\nset bmargin 1.6\n" : "set tmargin 0.7\nset bmargin 1.8\n");
}

}  // namespace

GnuplotScript script_of(const Plot& plot) {
  return {preamble(plot) + commands_of(plot), plot.width, plot.height, plot.small ? 10 : 11};
}

std::optional<std::vector<std::string>> draw_plots(const std::vector<Plot>& plots) {
  std::vector<GnuplotScript> scripts;
  for (const auto& plot : plots) scripts.push_back(script_of(plot));
  return run_gnuplot(scripts, Drawing::page);
}

std::string curves_csv(const Plot& plot, const std::string& x, const std::string& y) {
  std::string csv = fmt::format("{},curve,{},low,high\n", csv_field(x), csv_field(y));
  for (const Curve& curve : plot.curves) {
    for (size_t i = 0; i < curve.points.size(); ++i) {
      const auto [at, value] = curve.points[i];
      const auto [low, high] = curve.band.empty() ? std::pair(value, value) : curve.band[i];
      csv += fmt::format("{},{},{},{},{}\n", at, csv_field(curve.name), value, low, high);
    }
  }
  return csv;
}

size_t colour_index(const Plot& plot, size_t index) {
  const int colour = plot.curves[index].colour;
  return (colour >= 0 ? static_cast<size_t>(colour) : index) % kPlotColours;
}

bool is_dashed(const Plot& plot, size_t index) { return plot.curves[index].colour < 0 && index >= kPlotColours; }

bool is_flat(const Plot& plot) {
  return std::all_of(plot.curves.begin(), plot.curves.end(), [](const Curve& curve) {
    PlotRange range;
    for (const auto& [x, y] : curve.points) range.include(y);
    return !curve.points.empty() && std::isfinite(range.low) && std::isfinite(range.high) && range.flat();
  });
}

std::string pointer_data(const Plot& plot, const std::string& by) {
  const auto short_number = [](double value) { return std::stod(fmt::format("{:.7g}", value)); };
  Json curves = Json::array();
  bool any = false;
  for (size_t i = 0; i < plot.curves.size(); ++i) {
    const Curve curve = drawable_curve(plot.curves[i]);
    Json points = Json::array(), band = Json::array();
    for (const auto& [px, py] : curve.points) points.push_back({px, short_number(py)});
    for (const auto& [low, high] : curve.band) band.push_back({short_number(low), short_number(high)});
    any = any || !points.empty();
    curves.push_back({{"name", plot.curves.size() > 1 ? curve.name : ""},
                      {"colour", colour_index(plot, i)},
                      {"points", std::move(points)}});
    if (!band.empty()) curves.back()["band"] = std::move(band);
  }
  if (!any) return "";
  Json data = {{"by", by}, {"whole", plot.whole}, {"curves", curves}};
  if (plot.top > 0) data["top"] = plot.top;
  return fmt::format(" data-plot=\"{}\"", html::escape(data.dump(-1, ' ', false, Json::error_handler_t::replace)));
}

Points thinned(const Points& points, size_t most) {
  if (points.size() <= most) return points;
  Points means;
  const size_t group = (points.size() + most - 1) / most;
  for (size_t start = 0; start < points.size(); start += group) {
    const size_t end = std::min(points.size(), start + group);
    double x = 0, y = 0;
    for (size_t i = start; i < end; ++i) x += points[i].first, y += points[i].second;
    means.emplace_back(x / (end - start), y / (end - start));
  }
  return means;
}

}  // namespace nascent
