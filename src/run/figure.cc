#include "nascent/run/figure.h"

#include <fmt/format.h>

#include <algorithm>

#include "nascent/run/html.h"
#include "nascent/run/svg.h"

namespace nascent {
namespace {

constexpr int kMargin = 18, kTitle = 40, kAxis = 24, kLegend = 30;

// The light theme's value of a variable of the page: the first in its style sheet.
std::string light_colour(const std::string& variable) {
  const std::string_view sheet = html::style_sheet();
  const std::string key = "--" + variable + ": ";
  const size_t at = sheet.find(key);
  return at == std::string_view::npos ? "#000000" : std::string(sheet.substr(at + key.size(), 7));
}

std::string in_light_colours(std::string svg) {
  for (const std::string variable : {"axis", "grid", "ink", "soft"}) {
    svg = replace_all(std::move(svg), "var(--" + variable + ")", light_colour(variable));
  }
  for (int i = 0; i < kPlotColours; ++i) {
    const std::string variable = fmt::format("c{}", i);
    svg = replace_all(std::move(svg), "var(--" + variable + ")", light_colour(variable));
  }
  return svg;
}

std::string text(int x, int y, const std::string& words, const std::string& style) {
  return fmt::format("<text x=\"{}\" y=\"{}\" {}>{}</text>\n", x, y, style, html::escape(words));
}

std::string panel_markup(const FigurePanel& panel, const std::string& drawing, int x) {
  const auto& [width, height] = std::pair(panel.plot.width, panel.plot.height);
  std::string markup =
      text(x + 6, kMargin + 12, panel.title, "font-weight=\"600\" font-size=\"14\" fill=\"var(--ink)\"");
  markup += text(x + 6, kMargin + 30, panel.y, "font-size=\"12\" fill=\"var(--soft)\"");
  // The drawing has a view box but no size of its own.
  markup += fmt::format("<svg x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"{}\n", x, kMargin + kTitle, width, height,
                        drawing.substr(std::string_view("<svg").size()));
  markup += text(x + width / 2, kMargin + kTitle + height + 14, panel.x,
                 "font-size=\"12\" text-anchor=\"middle\" fill=\"var(--soft)\"");
  return markup;
}

std::string legend_markup(const std::vector<Curve>& curves, int y) {
  std::string markup;
  int x = kMargin + 6;
  for (size_t i = 0; i < curves.size(); ++i) {
    markup += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"16\" height=\"3\" rx=\"1.5\" fill=\"var(--c{})\"/>\n", x,
                          y - 6, i % kPlotColours);
    markup += text(x + 22, y, curves[i].name, "font-size=\"13\" fill=\"var(--ink)\"");
    x += 44 + 7 * static_cast<int>(curves[i].name.size());  // about a letter's width
  }
  return markup;
}

}  // namespace

std::optional<std::string> draw_figure(const std::vector<FigurePanel>& panels) {
  std::vector<Plot> plots;
  for (const auto& panel : panels) plots.push_back(panel.plot);
  const auto drawings = draw_plots(plots);
  if (!drawings || panels.empty()) return std::nullopt;
  std::string markup;
  int width = kMargin, height = 0;
  for (size_t i = 0; i < panels.size(); ++i) {
    markup += panel_markup(panels[i], (*drawings)[i], width);
    width += panels[i].plot.width + kMargin;
    height = std::max(height, panels[i].plot.height);
  }
  height += kMargin + kTitle + kAxis;
  if (panels[0].plot.curves.size() > 1) markup += legend_markup(panels[0].plot.curves, height + kLegend / 2 + 4);
  height += kLegend + kMargin / 2;
  return in_light_colours(
      fmt::format("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
                  "font-family=\"sans-serif\">\n<rect width=\"{0}\" height=\"{1}\" fill=\"#ffffff\"/>\n{2}</svg>\n",
                  width, height, markup));
}

}  // namespace nascent
