#include "nascent/run/cell_section.h"

#include "nascent/core/log.h"
#include "nascent/run/html.h"
#include "nascent/run/subprocess.h"
#include "nascent/run/svg.h"
#include "nascent/space/drawing.h"

namespace nascent {
namespace {

// "" where dot is missing or fails.
std::string drawn(const std::string& graph) {
  const auto output = run_program({"dot", "-Tsvg", "-Gbgcolor=transparent"}, graph);
  if (!output) return "";
  std::string markup;
  for (const auto& svg : inline_svgs(output->out)) markup += svg + "\n";
  if (output->exit_code != 0) log::warning("dot failed (exit code {}): {}", output->exit_code, output->err);
  return output->exit_code == 0 ? markup : "";
}

// A graph per cell: they stand in their order, and each is scaled to the page by itself.
std::string cell_graphs(const Genotype& genotype) {
  std::string graphs;
  for (const auto& cell : genotype.cells) graphs += to_dot({genotype.space, {cell}}) + "\n";
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
