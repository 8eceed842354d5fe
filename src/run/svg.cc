#include "nascent/run/svg.h"

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

std::string cleaned(std::string_view svg) {
  std::string text = without(svg, "<!--", "-->");
  text = without(text, "<title>", "</title>");
  text = without(text, "<desc>", "</desc>");
  text = without(text, "<defs>", "</defs>");
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
