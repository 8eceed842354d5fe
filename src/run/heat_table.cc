#include "nascent/run/heat_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "nascent/core/csv_field.h"
#include "nascent/run/grid_plot.h"
#include "nascent/run/html.h"

namespace nascent {

DrawnPanel heat_panel(const HeatTable& heat, const std::string& title, const std::string& y) {
  constexpr int kLeft = 110, kTop = 92, kWidth = 58, kHeight = 24;
  const int width = kLeft + kWidth * static_cast<int>(heat.columns.size()) + 40;
  const int height = kTop + kHeight * static_cast<int>(heat.rows.size()) + 8;
  std::string svg = fmt::format(
      "<svg viewBox=\"0 0 {0} {1}\" style=\"max-width:{0}px\" role=\"img\" font-size=\"11\" fill=\"var(--ink)\">",
      width, height);
  for (size_t c = 0; c < heat.columns.size(); ++c) {
    const int x = kLeft + kWidth * static_cast<int>(c) + kWidth / 2;
    svg += fmt::format("<text x=\"{0}\" y=\"{1}\" transform=\"rotate(-40 {0} {1})\">{2}</text>", x, kTop - 6,
                       html::escape(heat.columns[c]));
  }
  for (size_t r = 0; r < heat.rows.size(); ++r) {
    const int top = kTop + kHeight * static_cast<int>(r);
    svg += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>", kLeft - 8, top + 16,
                       html::escape(heat.rows[r]));
    for (size_t c = 0; c < heat.values[r].size(); ++c) {
      const double share = heat.top > 0 ? std::clamp(heat.values[r][c] / heat.top, 0.0, 1.0) : 0;
      const int x = kLeft + kWidth * static_cast<int>(c);
      svg += fmt::format(
          "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"var(--c0)\" fill-opacity=\"{:.3f}\" "
          "stroke=\"var(--grid)\"/><text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
          x, top, kWidth - 2, kHeight - 2, 0.75 * share, x + kWidth / 2 - 1, top + 15,
          fmt::format(fmt::runtime(heat.format), heat.values[r][c]));
    }
  }
  return {title, "", y, width, height, svg + "</svg>"};
}

std::string heat_csv(const HeatTable& heat, const std::string& corner) {
  std::string csv = corner;
  for (const auto& column : heat.columns) csv += "," + csv_field(column);
  csv += "\n";
  for (size_t r = 0; r < heat.rows.size(); ++r) {
    csv += csv_field(heat.rows[r]);
    for (const double value : heat.values[r]) csv += fmt::format(",{}", value);
    csv += "\n";
  }
  return csv;
}

GnuplotScript heat_script(const HeatTable& heat) {
  std::string data = "$squares << EOD\n";
  for (auto row = heat.values.rbegin(); row != heat.values.rend(); ++row) {
    for (const double value : *row) data += fmt::format("{} ", value);
    data += "\n";
  }
  return {palette_script() + data + "EOD\nunset key\nunset border\nunset tics\nset colorbox noborder\n" +
              fmt::format("set cbrange [0:{}]\nplot $squares matrix with image\n", heat.top > 0 ? heat.top : 1),
          420, 300};
}

}  // namespace nascent
