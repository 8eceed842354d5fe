#include "nascent/run/figure.h"

#include <fmt/format.h>

#include <algorithm>

#include "nascent/run/html.h"
#include "nascent/run/svg.h"

namespace nascent {
namespace {

constexpr int kMargin = 18, kTitle = 40, kAxis = 24, kLegend = 30;

std::string text(int x, int y, const std::string& words, const std::string& style) {
  return fmt::format("<text x=\"{}\" y=\"{}\" {}>{}</text>\n", x, y, style, html::escape(words));
}

std::string panel_markup(const DrawnPanel& panel, int x) {
  std::string markup =
      text(x + 6, kMargin + 12, panel.title, "font-weight=\"600\" font-size=\"14\" fill=\"var(--ink)\"");
  markup += text(x + 6, kMargin + 30, panel.y, "font-size=\"12\" fill=\"var(--soft)\"");
  // The drawing has a view box but no size of its own.
  markup += fmt::format("<svg x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"{}\n", x, kMargin + kTitle, panel.width,
                        panel.height, panel.svg.substr(std::string_view("<svg").size()));
  markup += text(x + panel.width / 2, kMargin + kTitle + panel.height + 14, panel.x,
                 "font-size=\"12\" text-anchor=\"middle\" fill=\"var(--soft)\"");
  return markup;
}

std::string legend_markup(const std::vector<std::string>& names, int y) {
  std::string markup;
  int x = kMargin + 6;
  for (size_t i = 0; i < names.size(); ++i) {
    markup += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"16\" height=\"3\" rx=\"1.5\" fill=\"var(--c{})\"/>\n", x,
                          y - 6, i % kPlotColours);
    markup += text(x + 22, y, names[i], "font-size=\"13\" fill=\"var(--ink)\"");
    x += 44 + 7 * static_cast<int>(names[i].size());  // about a letter's width
  }
  return markup;
}

}  // namespace

std::string in_light_colours(std::string svg) {
  for (const std::string variable : {"axis", "grid", "ink", "soft"}) {
    svg = replace_all(std::move(svg), "var(--" + variable + ")", html::light_colour(variable));
  }
  for (int i = 0; i < kPlotColours; ++i) {
    const std::string variable = fmt::format("c{}", i);
    svg = replace_all(std::move(svg), "var(--" + variable + ")", html::light_colour(variable));
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
  if (legend.size() > 1) markup += legend_markup(legend, height + kLegend / 2 + 4);
  height += kLegend + kMargin / 2;
  return in_light_colours(
      fmt::format("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
                  "font-family=\"sans-serif\">\n<rect width=\"{0}\" height=\"{1}\" fill=\"#ffffff\"/>\n{2}</svg>\n",
                  width, height, markup));
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
