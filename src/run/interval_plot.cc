#include "nascent/run/interval_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "nascent/run/figure.h"
#include "nascent/run/html.h"
#include "nascent/run/plot_range.h"

namespace nascent {
namespace {

constexpr int kRow = 22, kTop = 52, kPlot = 480, kRight = 84, kLetter = 7, kMargin = 18;

struct Axis {
  PlotRange range{};
  double left = 0;

  bool shows(double value) const { return range.low <= value && value <= range.high; }
  double place(double value) const { return left + kPlot * (value - range.low) / range.size(); }
};

std::string words(double x, double y, const std::string& text, const std::string& anchor, const std::string& colour) {
  return fmt::format(
      "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" font-size=\"12\" fill=\"var(--{})\">{}</text>\n", x, y,
      anchor, colour, html::escape(text));
}

std::string stroke(double x1, double y1, double x2, double y2, const std::string& colour, double width) {
  return fmt::format(
      "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"var(--{})\" stroke-width=\"{}\"/>\n", x1,
      y1, x2, y2, colour, width);
}

std::string dot(double x, double y, double radius, const std::string& colour, double opacity) {
  return fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\" fill=\"var(--{})\" fill-opacity=\"{}\"/>\n", x, y,
                     radius, colour, opacity);
}

std::string row_markup(const IntervalPlot::Row& row, const Axis& axis, double y) {
  std::string markup = words(axis.left - 8, y + 4, row.name, "end", "ink");
  for (const double point : row.points) {
    if (axis.shows(point)) markup += dot(axis.place(point), y, 2, "c0", 0.35);
  }
  const std::string colour = row.marked ? "c1" : "c0";
  if (std::isfinite(row.low) && std::isfinite(row.high)) {
    const double low = axis.place(row.low), high = axis.place(row.high);
    markup += stroke(low, y, high, y, colour, 2) + stroke(low, y - 4, low, y + 4, colour, 1.5) +
              stroke(high, y - 4, high, y + 4, colour, 1.5);
  }
  return markup + dot(axis.place(row.value), y, 4, colour, 1) +
         words(axis.left + kPlot + 8, y + 4, fmt::format("{:.4g}", row.value), "start", "soft");
}

std::string axis_markup(const Axis& axis, double bottom) {
  std::string markup;
  const double step = axis.range.tic_distance();
  for (double tic = std::ceil(axis.range.low / step) * step; tic <= axis.range.high; tic += step) {
    markup += stroke(axis.place(tic), kTop - 10, axis.place(tic), bottom, "grid", 0.7) +
              words(axis.place(tic), bottom + 16, fmt::format("{:.6g}", std::abs(tic) < 1e-9 * step ? 0 : tic),
                    "middle", "axis");
  }
  return markup;
}

// Holds all values and intervals.
PlotRange range_of(const IntervalPlot& plot) {
  PlotRange range;
  for (const auto& row : plot.rows) {
    for (const double value : {row.value, row.low, row.high}) {
      if (PlotRange::drawable(value)) range.include(value);
    }
  }
  return range.low <= range.high ? range.widened(0.04, 0.01) : PlotRange{0, 1};
}

}  // namespace

std::string draw_intervals(const IntervalPlot& plot) {
  size_t longest = 0;
  for (const auto& row : plot.rows) longest = std::max(longest, row.name.size());
  const Axis axis{.range = range_of(plot), .left = kMargin + 10 + kLetter * static_cast<double>(longest)};
  const double bottom = kTop + kRow * static_cast<double>(plot.rows.size());
  std::string markup = axis_markup(axis, bottom) +
                       fmt::format(
                           "<text x=\"{}\" y=\"26\" font-weight=\"600\" font-size=\"14\" fill=\"var(--ink)\">"
                           "{}</text>\n",
                           kMargin, html::escape(plot.title)) +
                       words(axis.left + kPlot / 2.0, bottom + 36, plot.axis, "middle", "soft");
  double y = kTop + kRow / 2.0 - 4;
  for (const auto& row : plot.rows) {
    if (row.marked) markup += stroke(axis.place(row.value), kTop - 10, axis.place(row.value), bottom, "c1", 0.8);
    markup += row_markup(row, axis, y);
    y += kRow;
  }
  return in_light_colours(fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} "
      "{1:.0f}\" font-family=\"sans-serif\">\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n{2}"
      "</svg>\n",
      axis.left + kPlot + kRight, bottom + 50, markup));
}

}  // namespace nascent
