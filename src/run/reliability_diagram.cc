#include "nascent/run/reliability_diagram.h"

#include <fmt/format.h>

#include <algorithm>

namespace nascent {

std::string reliability_svg(const Json& bins, int side) {
  constexpr int kLeft = 40, kTop = 10;
  std::string svg = fmt::format(
      "<svg viewBox=\"0 0 {0} {1}\" style=\"max-width:{0}px\" role=\"img\" font-size=\"11\" fill=\"var(--ink)\">",
      side + kLeft + 10, side + kTop + 26);
  const double width = static_cast<double>(side) / static_cast<double>(bins.size());
  int64_t most = 1;
  for (const Json& bin : bins) most = std::max(most, bin.at("images").get<int64_t>());
  for (size_t i = 0; i < bins.size(); ++i) {
    const auto images = bins[i].at("images").get<int64_t>();
    if (images == 0) continue;
    const double tall = side * bins[i].at("accuracy").get<double>();
    const double weight = 0.25 + 0.75 * static_cast<double>(images) / static_cast<double>(most);
    svg += fmt::format(
        "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"var(--c0)\" "
        "fill-opacity=\"{:.2f}\"><title>{} images</title></rect>",
        kLeft + width * static_cast<double>(i), kTop + side - tall, width - 1, tall, weight, images);
  }
  svg += fmt::format(
      "<path d=\"M{0} {1}V{2}H{3}\" fill=\"none\" stroke=\"var(--axis)\"/><path d=\"M{0} {2}L{3} {1}\" "
      "stroke=\"var(--c1)\" stroke-dasharray=\"4 3\"/>",
      kLeft, kTop, kTop + side, kLeft + side);
  for (const double tick : {0.0, 0.5, 1.0}) {
    svg += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{:g}</text>", kLeft + tick * side,
                       kTop + side + 16, tick);
    svg += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{:g}</text>", kLeft - 6,
                       kTop + side - tick * side + 4, tick);
  }
  return svg + "</svg>";
}

}  // namespace nascent
