#include "nascent/run/bars.h"

#include <fmt/format.h>

#include <algorithm>

#include "nascent/run/figure.h"
#include "nascent/run/html.h"
#include "nascent/run/plot.h"

namespace nascent {
namespace {

constexpr int kBar = 26, kGap = 4, kBetween = 30, kLeft = 36, kTop = 14, kHeight = 190, kBottom = 26;

double height_of(double value) { return kTop + kHeight * (1 - std::clamp(value, 0.0, 100.0) / 100); }

std::string text(double x, double y, const std::string& words, const std::string& anchor, int size) {
  return fmt::format(
      "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" font-size=\"{}\" font-family=\"sans-serif\" "
      "fill=\"var(--axis)\">{}</text>\n",
      x, y, anchor, size, html::escape(words));
}

std::string line(double x1, double y1, double x2, double y2, const std::string& colour, double width) {
  return fmt::format(
      "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\" stroke-width=\"{}\"/>\n", x1, y1, x2,
      y2, colour, width);
}

std::string bar(const Bar& bar, double x, size_t index) {
  const double top = height_of(bar.value), middle = x + kBar / 2.0;
  std::string markup =
      fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{}\" height=\"{:.1f}\" rx=\"2\" fill=\"var(--c{})\"/>\n", x,
                  top, kBar, kTop + kHeight - top, index % kPlotColours);
  double label = top - 3;
  if (bar.deviation > 0) {
    const double low = height_of(bar.value - bar.deviation), high = height_of(bar.value + bar.deviation);
    markup += line(middle, low, middle, high, "var(--ink)", 1) +
              line(middle - 4, low, middle + 4, low, "var(--ink)", 1) +
              line(middle - 4, high, middle + 4, high, "var(--ink)", 1);
    label = high - 3;
  }
  return markup + text(middle, label, fmt::format("{:.0f}", bar.value), "middle", 10);
}

int width_of(const BarGroup& group) { return static_cast<int>(group.bars.size()) * (kBar + kGap) - kGap; }

int width_of(const std::vector<BarGroup>& groups) {
  int width = kLeft + kBetween / 2;
  for (const auto& group : groups) width += width_of(group) + kBetween;
  return width;
}

constexpr int kTall = kTop + kHeight + kBottom;

// What is drawn, without the <svg> around it.
std::string bars_markup(const std::vector<BarGroup>& groups) {
  const int width = width_of(groups);
  std::string markup;
  for (int tic = 0; tic <= 100; tic += 25) {
    markup += line(kLeft, height_of(tic), width, height_of(tic), "var(--grid)", 0.7);
    markup += text(kLeft - 6, height_of(tic) + 4, fmt::format("{}", tic), "end", 11);
  }
  int x = kLeft + kBetween / 2;
  for (const auto& group : groups) {
    for (size_t i = 0; i < group.bars.size(); ++i)
      markup += bar(group.bars[i], x + static_cast<int>(i) * (kBar + kGap), i);
    markup += text(x + width_of(group) / 2.0, kTop + kHeight + 18, group.name, "middle", 11);
    x += width_of(group) + kBetween;
  }
  return markup;
}

}  // namespace

std::string draw_bars(const std::vector<BarGroup>& groups) {
  const int width = width_of(groups);
  return fmt::format("<svg viewBox=\"0 0 {0} {1}\" width=\"{0}\" style=\"max-width:100%\">\n{2}</svg>\n", width, kTall,
                     bars_markup(groups));
}

std::string bar_legend(const std::vector<std::string>& names) {
  std::string markup = "<p class=\"legend\">";
  for (size_t i = 0; i < names.size(); ++i) {
    markup += fmt::format("<span><i style=\"background:var(--c{})\"></i>{}</span> ", i % kPlotColours,
                          html::escape(names[i]));
  }
  return markup + "</p>\n";
}

std::string standalone_bars(const std::string& title, const std::vector<BarGroup>& groups,
                            const std::vector<std::string>& names) {
  const int width = width_of(groups), wide = std::max(width, 360);
  std::string markup = fmt::format(
      "<text x=\"18\" y=\"28\" font-weight=\"600\" font-size=\"14\" fill=\"var(--ink)\">{0}</text>\n"
      "<svg x=\"18\" y=\"40\" width=\"{1}\" height=\"{2}\" viewBox=\"0 0 {1} {2}\">\n{3}</svg>\n",
      html::escape(title), width, kTall, bars_markup(groups));
  int y = 40 + kTall + 20;
  for (size_t i = 0; i < names.size(); ++i, y += 20) {
    markup += fmt::format("<rect x=\"24\" y=\"{}\" width=\"16\" height=\"8\" rx=\"2\" fill=\"var(--c{})\"/>\n", y - 8,
                          i % kPlotColours);
    markup += fmt::format("<text x=\"48\" y=\"{}\" font-size=\"13\" fill=\"var(--ink)\">{}</text>\n", y,
                          html::escape(names[i]));
  }
  return in_light_colours(
      fmt::format("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
                  "font-family=\"sans-serif\">\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n{2}</svg>\n",
                  wide + 36, y, markup));
}

}  // namespace nascent
