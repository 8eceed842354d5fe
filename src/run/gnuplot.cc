#include "nascent/run/gnuplot.h"

#include <fmt/format.h>

#include "nascent/core/log.h"
#include "nascent/run/html.h"
#include "nascent/run/plot.h"
#include "nascent/run/subprocess.h"
#include "nascent/run/svg.h"

namespace nascent {
namespace {

// Colours that stand for the page's own until the drawing is done: axes, grid, and one per curve.
struct Colour {
  int red, green, blue;
  std::string variable;
};

std::vector<Colour> colours() {
  std::vector<Colour> all = {{1, 1, 1, "axis"}, {2, 2, 2, "grid"}};
  for (int i = 0; i < kPlotColours; ++i) all.push_back({3, 3, 10 + i, fmt::format("c{}", i)});
  return all;
}

std::string in_page_colours(std::string svg) {
  for (const auto& [red, green, blue, variable] : colours()) {
    const std::string page = "var(--" + variable + ")";
    svg = replace_all(std::move(svg), fmt::format("rgb({:3}, {:3}, {:3})", red, green, blue), page);
    svg = replace_all(std::move(svg), fmt::format("rgb({},{},{})", red, green, blue), page);
  }
  return svg;
}

std::string in_light_colours(std::string script) {
  for (const auto& [red, green, blue, variable] : colours()) {
    script = replace_all(std::move(script), fmt::format("'#{:02x}{:02x}{:02x}'", red, green, blue),
                         "'" + html::light_colour(variable) + "'");
  }
  return script;
}

std::optional<std::string> output_of(const std::string& script) {
  const auto output = run_program({"gnuplot"}, script);
  if (!output) return std::nullopt;
  if (output->exit_code == 0) return output->out;
  log::warning("gnuplot failed (exit code {}): {}", output->exit_code, output->err);
  return std::nullopt;
}

std::optional<std::vector<std::string>> draw_pngs(const std::vector<GnuplotScript>& scripts) {
  std::vector<std::string> pictures;
  for (const GnuplotScript& script : scripts) {
    // Twice as many pixels: screens have them.
    const auto bytes = output_of(fmt::format(
        "reset\nset terminal pngcairo size {},{} fontscale 2 linewidth 2 pointscale 2 rounded noenhanced font "
        "'sans-serif,{}'\n{}",
        2 * script.width, 2 * script.height, script.font, in_light_colours(script.text)));
    if (!bytes) return std::nullopt;
    pictures.push_back(*bytes);
  }
  return pictures;
}

}  // namespace

std::string axis_colour() { return "rgb '#010101'"; }
std::string grid_colour() { return "rgb '#020202'"; }
std::string curve_colour(size_t index) { return fmt::format("rgb '#0303{:02x}'", 10 + index % kPlotColours); }

std::optional<std::vector<std::string>> run_gnuplot(const std::vector<GnuplotScript>& scripts, Drawing drawing) {
  if (drawing == Drawing::png) return draw_pngs(scripts);
  std::string all;
  for (const GnuplotScript& script : scripts) {
    all += fmt::format("reset\nset terminal svg size {},{} dynamic rounded noenhanced font 'sans-serif,{}'\n{}",
                       script.width, script.height, script.font, script.text);
  }
  const auto output = output_of(all);
  if (!output) return std::nullopt;
  std::vector<std::string> drawings = inline_svgs(*output);
  if (drawings.size() != scripts.size()) {
    log::warning("gnuplot made {} drawings of {} scripts.", drawings.size(), scripts.size());
    return std::nullopt;
  }
  for (auto& one : drawings) one = in_page_colours(std::move(one));
  return drawings;
}

std::string palette_script() {
  return "set palette defined (0 '#2d1160', 0.2 '#4b2f8f', 0.4 '#2f6f9f', 0.6 '#3da07f', 0.8 '#a5c84a', 1 '#fdf0a0')\n";
}

}  // namespace nascent
