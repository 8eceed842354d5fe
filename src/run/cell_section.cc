#include "nascent/run/cell_section.h"

#include "nascent/core/log.h"
#include "nascent/run/html.h"
#include "nascent/run/operation_colours.h"
#include "nascent/run/plot.h"
#include "nascent/run/subprocess.h"
#include "nascent/run/svg.h"
#include "nascent/space/drawing.h"

namespace nascent {
namespace {

// Colours that stand for the page's own until the drawing is done.
std::string stand_in(size_t colour) { return fmt::format("#0304{:02x}", 16 + colour); }

std::string page_coloured(std::string svg) {
  for (size_t i = 0; i < kPlotColours; ++i)
    svg = replace_all(std::move(svg), stand_in(i), fmt::format("var(--c{})", i));
  static const std::vector<std::pair<const char*, const char*>> kParts = {
      {"#d5e8d4", "var(--input)"}, {"#dae8fc", "var(--node)"}, {"#fff2cc", "var(--output)"},
      {"#ffffff", "var(--card)"},  {"#404040", "var(--axis)"}, {"#cccccc", "var(--rule)"}};
  for (const auto& [own, page] : kParts) svg = replace_all(std::move(svg), own, page);
  return svg;
}

// "" where dot is missing or fails.
std::string drawn(const std::string& graph) {
  const auto output = run_program({"dot", "-Tsvg", "-Gbgcolor=transparent"}, graph);
  if (!output) return "";
  std::string markup;
  for (const auto& svg : inline_svgs(output->out)) markup += page_coloured(svg) + "\n";
  if (output->exit_code != 0) log::warning("dot failed (exit code {}): {}", output->exit_code, output->err);
  return output->exit_code == 0 ? markup : "";
}

// A graph per cell: they stand in their order, and each is scaled to the page by itself.
std::string cell_graphs(const Genotype& genotype) {
  std::string graphs;
  OperationColours colours = colours_of_space(genotype.space);
  const auto paint = [&](const std::string& op) { return stand_in(colours.of(op)); };
  for (const auto& cell : genotype.cells) graphs += to_dot({genotype.space, {cell}}, paint) + "\n";
  return graphs;
}

std::string drawing_markup(const Genotype& genotype) {
  const std::string drawing = drawn(cell_graphs(genotype));
  if (!drawing.empty()) return "<div class=\"cells\">\n" + drawing + "</div>\n";
  return "<p class=\"soft\">graphviz (dot) could not be run, so the cells are shown as text.</p>\n" +
         html::copyable(describe(genotype));
}

}  // namespace

std::string cell_drawing(const Genotype& genotype) { return drawing_markup(genotype); }

std::string cell_section(const Genotype& genotype) {
  std::string texts;
  for (const auto& form : text_forms(genotype)) {
    texts += html::details("As text: " + form, html::copyable(to_text(genotype, form)));
  }
  texts += html::details("As a table of edges", html::copyable(describe(genotype)));
  texts += html::details("As a graphviz graph", html::copyable(to_dot(genotype)));
  return html::section(genotype.cells.size() == 1 ? "Cell" : "Cells", drawing_markup(genotype)) +
         html::section("Genotype", texts);
}

}  // namespace nascent
