#include "nascent/run/figure.h"

#include <fmt/format.h>

#include <algorithm>

#include "nascent/run/html.h"
#include "nascent/run/svg.h"

namespace nascent {
namespace {

constexpr int kMargin = 18, kTitle = 40, kAxis = 24, kLegend = 30, kLegendLine = 20;

std::string text(int x, int y, const std::string& words, const std::string& style) {
  return fmt::format("<text x=\"{}\" y=\"{}\" {}>{}</text>\n", x, y, style, html::escape(words));
}

// Smaller where the title is longer than its panel.
int title_size(const DrawnPanel& panel) {
  constexpr int kLargest = 14, kSmallest = 8;
  const double letter = 0.65 * static_cast<double>(panel.title.size());  // about as wide, of the size
  return std::clamp(static_cast<int>((panel.width - 12) / std::max(1.0, letter)), kSmallest, kLargest);
}

std::string panel_markup(const DrawnPanel& panel, int x) {
  std::string markup = text(x + 6, kMargin + 12, panel.title,
                            fmt::format("font-weight=\"600\" font-size=\"{}\" fill=\"var(--ink)\"", title_size(panel)));
  markup += text(x + 6, kMargin + 30, panel.y, "font-size=\"12\" fill=\"var(--soft)\"");
  // The drawing has a view box but no size of its own.
  markup += fmt::format("<svg x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"{}\n", x, kMargin + kTitle, panel.width,
                        panel.height, panel.svg.substr(std::string_view("<svg").size()));
  markup += text(x + panel.width / 2, kMargin + kTitle + panel.height + 14, panel.x,
                 "font-size=\"12\" text-anchor=\"middle\" fill=\"var(--soft)\"");
  return markup;
}

struct Legend {
  std::string markup{};
  int height = 0;
};

// In as many lines as the width asks for.
Legend legend_markup(const std::vector<std::string>& names, int top, int width) {
  Legend legend{.height = names.empty() ? 0 : kLegend};
  int x = kMargin + 6, y = top + kLegend / 2 + 4;
  for (size_t i = 0; i < names.size(); ++i) {
    const int wide = 44 + 7 * static_cast<int>(names[i].size());  // about a letter's width
    if (x > kMargin + 6 && x + wide > width) {
      x = kMargin + 6;
      y += kLegendLine;
      legend.height += kLegendLine;
    }
    legend.markup +=
        fmt::format("<path d=\"M{} {}h16\" stroke-width=\"3\" stroke=\"var(--c{})\"{}/>\n", x, y - 4, i % kPlotColours,
                    i >= kPlotColours ? " stroke-dasharray=\"4 2\"" : " stroke-linecap=\"round\"");
    legend.markup += text(x + 22, y, names[i], "font-size=\"13\" fill=\"var(--ink)\"");
    x += wide;
  }
  return legend;
}

std::vector<std::string> page_variables() {
  std::vector<std::string> all = {"axis", "grid", "ink", "soft"};
  for (int i = 0; i < kPlotColours; ++i) all.push_back(fmt::format("c{}", i));
  return all;
}

// What a figure that stands alone is drawn on.
constexpr std::string_view kGround = "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n";

}  // namespace

std::string in_light_colours(std::string svg) {
  for (const std::string& variable : page_variables()) {
    svg = replace_all(std::move(svg), "var(--" + variable + ")", html::light_colour(variable));
  }
  return svg;
}

std::string in_page_colours(std::string svg) {
  svg = replace_all(std::move(svg), kGround, "");
  for (const std::string& variable : page_variables()) {
    svg = replace_all(std::move(svg), html::light_colour(variable), "var(--" + variable + ")");
  }
  return svg;
}

std::string compose_figure(const std::vector<DrawnPanel>& panels, const std::vector<std::string>& legend) {
  std::string markup;
  int width = kMargin, height = 0;
  for (const DrawnPanel& panel : panels) {
    markup += panel_markup(panel, width);
    width += panel.width + kMargin;
    height = std::max(height, panel.height);
  }
  height += kMargin + kTitle + kAxis;
  const Legend below = legend_markup(legend.size() > 1 ? legend : std::vector<std::string>(), height, width);
  markup += below.markup;
  height += below.height + kMargin / 2;
  return in_light_colours(
      fmt::format("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
                  "font-family=\"sans-serif\">\n{2}{3}</svg>\n",
                  width, height, kGround, markup));
}

std::optional<std::string> draw_figure(const std::vector<FigurePanel>& panels) {
  std::vector<Plot> plots;
  for (const auto& panel : panels) plots.push_back(panel.plot);
  const auto drawings = draw_plots(plots);
  if (!drawings || panels.empty()) return std::nullopt;
  std::vector<DrawnPanel> drawn;
  for (size_t i = 0; i < panels.size(); ++i) {
    drawn.push_back({panels[i].title, panels[i].x, panels[i].y, plots[i].width, plots[i].height, (*drawings)[i]});
  }
  std::vector<std::string> names;
  for (const Curve& curve : plots[0].curves) names.push_back(curve.name);
  return compose_figure(drawn, names);
}

}  // namespace nascent
