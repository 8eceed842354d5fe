#include "nascent/run/svg.h"

#include <fmt/format.h>

#include <cstdio>

namespace nascent {
namespace {

// Cuts every stretch from `open` up to and including `close`.
std::string without(std::string_view text, std::string_view open, std::string_view close) {
  std::string kept;
  while (true) {
    const size_t start = text.find(open);
    const size_t end = start == std::string_view::npos ? start : text.find(close, start + open.size());
    if (end == std::string_view::npos) return kept.append(text);
    kept.append(text.substr(0, start));
    text.remove_prefix(end + close.size());
  }
}

// gnuplot sets every pen state in a group of its own, most of which draw nothing.
std::string without_empty_groups(std::string_view text) {
  std::string kept;
  while (true) {
    const size_t close = text.find(">\n</g>\n");
    if (close == std::string_view::npos) return kept.append(text);
    const size_t open = text.rfind('<', close);
    const bool empty_group = open != std::string_view::npos && text.substr(open, 3) == "<g ";
    const size_t after = close + std::string_view(">\n</g>\n").size();
    kept.append(text.substr(0, empty_group ? open : after));
    text.remove_prefix(after);
  }
}

// gnuplot's points refer to definitions, which go: a disc and a cross are drawn where they stand, others are left out.
std::string drawn_point(const std::string& reference) {
  int kind = 0;
  double x = 0, y = 0, size = 0;
  const int found = std::sscanf(
      reference.c_str(), "<use xlink:href='#gpPt%d' transform='translate(%lf,%lf) scale(%lf)'", &kind, &x, &y, &size);
  const size_t colour = reference.find("color='");
  if (found != 4 || colour == std::string::npos) return "";
  const std::string value = reference.substr(colour + 7, reference.find('\'', colour + 7) - colour - 7);
  if (kind == 6)
    return fmt::format("<circle cx='{:.2f}' cy='{:.2f}' r='{:.2f}' fill='{}' stroke='none'/>", x, y, size, value);
  if (kind != 1) return "";
  return fmt::format("<path d='M{:.2f},{:.2f} L{:.2f},{:.2f} M{:.2f},{:.2f} L{:.2f},{:.2f}' stroke='{}' fill='none'/>",
                     x - size, y - size, x + size, y + size, x + size, y - size, x - size, y + size, value);
}

std::string with_drawn_points(std::string_view text) {
  constexpr std::string_view kOpen = "<use xlink:href='#gpPt", kClose = "/>";
  std::string drawn;
  while (true) {
    const size_t start = text.find(kOpen);
    const size_t end = start == std::string_view::npos ? start : text.find(kClose, start);
    if (end == std::string_view::npos) return drawn.append(text);
    drawn.append(text.substr(0, start));
    drawn += drawn_point(std::string(text.substr(start, end + kClose.size() - start)));
    text.remove_prefix(end + kClose.size());
  }
}

std::string cleaned(std::string_view svg) {
  std::string text = without(svg, "<!--", "-->");
  text = without(text, "<title>", "</title>");
  text = without(text, "<desc>", "</desc>");
  text = without(text, "<defs>", "</defs>");
  text = with_drawn_points(text);
  text = without(text, " id=\"", "\"");
  return without_empty_groups(text);
}

}  // namespace

std::vector<std::string> inline_svgs(std::string_view output) {
  constexpr std::string_view kEnd = "</svg>";
  std::vector<std::string> drawings;
  while (true) {
    const size_t start = output.find("<svg");
    const size_t end = start == std::string_view::npos ? start : output.find(kEnd, start);
    if (end == std::string_view::npos) return drawings;
    drawings.push_back(cleaned(output.substr(start, end + kEnd.size() - start)));
    output.remove_prefix(end + kEnd.size());
  }
}

std::string replace_all(std::string text, std::string_view from, std::string_view to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
  return text;
}

}  // namespace nascent
