#include "nascent/space/drawing.h"

#include <algorithm>
#include <map>

#include "nascent/core/error.h"
#include "nascent/core/text.h"
#include "nascent/space/operation.h"

namespace nascent {

namespace {

const std::string& colour(const std::string& op) {
  static const std::map<std::string, std::string> colours = {{"none", "#b8b8b8"},    {"skip", "#707070"},
                                                             {"pool", "#b85c00"},    {"separable", "#1f5fa8"},
                                                             {"dilated", "#7a3ea8"}, {"convolution", "#1d7a46"}};
  return colours.at(operation_family(op));
}

std::string escape(const std::string& text) {
  std::string escaped;
  for (char c : text) {
    if (c == '"' || c == '\\') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

bool taken(const CellGenotype& cell, int state) {
  return std::count(cell.output.begin(), cell.output.end(), state) > 0;
}

// Vertices and edges of one cell; `prefix` keeps the names of different cells apart.
class CellDrawing {
 public:
  CellDrawing(const CellGenotype& cell, std::string prefix, const OperationPaint& paint)
      : cell_(cell), prefix_(std::move(prefix)), paint_(paint) {}

  std::string text() {
    add_vertices();
    for (size_t n = 0; n < cell_.nodes.size(); ++n) add_edges(cell_.inputs + static_cast<int>(n), cell_.nodes[n]);
    for (int state : cell_.output) line("{0}s{1} -> {0}out [color=\"#404040\"];", prefix_, state);
    return lines_;
  }

 private:
  template <class... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    lines_ += "    " + fmt::format(format, std::forward<Args>(args)...) + "\n";
  }

  void add_vertices() {
    for (int state = 0; state < cell_.inputs; ++state) {
      line("{}s{} [label=\"{}\", fillcolor=\"#d5e8d4\"];", prefix_, state, state_name(cell_, state));
    }
    for (size_t n = 0; n < cell_.nodes.size(); ++n) {
      const int state = cell_.inputs + static_cast<int>(n);
      const std::string& op = cell_.nodes[n].op;
      if (op.empty()) {
        line("{}s{} [label=\"{}\", fillcolor=\"#dae8fc\"];", prefix_, state, state);
      } else {
        line("{}s{} [label=\"{}: {}\", fillcolor=\"#ffffff\", color=\"{}\", fontcolor=\"{}\"];", prefix_, state, state,
             escape(op), painted(op), painted(op));
      }
    }
    line("{}out [label=\"output\", fillcolor=\"#fff2cc\"];", prefix_);
  }

  void add_edges(int to, const GenotypeNode& node) {
    for (const GenotypeEdge& edge : node.edges) {
      if (!node.op.empty() && edge.op == "skip_connect") {
        line("{0}s{1} -> {0}s{2} [color=\"#404040\"];", prefix_, edge.from, to);
        continue;
      }
      const std::string paint = painted(edge.op);
      line("{0}s{1} -> {0}s{2} [label=\" {3} \", color=\"{4}\", fontcolor=\"{4}\"{5}];", prefix_, edge.from, to,
           escape(edge.op), paint, edge.op == "none" ? ", style=dashed" : "");
    }
  }

  std::string painted(const std::string& op) const { return paint_ ? paint_(op) : colour(op); }

  const CellGenotype& cell_;
  std::string prefix_, lines_;
  const OperationPaint& paint_;
};

std::string describe_node(const CellGenotype& cell, const GenotypeNode& node, const std::vector<size_t>& columns) {
  std::vector<std::string> terms;
  for (size_t e = 0; e < node.edges.size(); ++e) {
    const std::string from = state_name(cell, node.edges[e].from);
    const bool plain = !node.op.empty() && node.edges[e].op == "skip_connect";
    std::string term = plain ? from : fmt::format("{}({})", node.edges[e].op, from);
    if (e + 1 < node.edges.size() && !plain) term.resize(columns[e], ' ');
    terms.push_back(std::move(term));
  }
  const std::string sum = terms.empty() ? "nothing" : join(terms, " + ");
  return node.op.empty() ? sum : fmt::format("{}({})", node.op, sum);
}

// The widest term of each column, so that the sums of all nodes align.
std::vector<size_t> column_widths(const CellGenotype& cell) {
  std::vector<size_t> widths;
  for (const GenotypeNode& node : cell.nodes) {
    widths.resize(std::max(widths.size(), node.edges.size()), 0);
    for (size_t e = 0; e < node.edges.size(); ++e) {
      widths[e] = std::max(widths[e], node.edges[e].op.size() + state_name(cell, node.edges[e].from).size() + 2);
    }
  }
  return widths;
}

std::string describe_output(const CellGenotype& cell) {
  std::vector<std::string> names;
  for (int state : cell.output) {
    if (state >= cell.inputs) names.push_back(state_name(cell, state));
  }
  std::string text = names.size() > 1 ? "concat(" + join(names, ", ") + ")" : join(names, "");
  for (int state = 0; state < cell.inputs; ++state) {
    if (taken(cell, state)) text += (text.empty() ? "" : " + ") + state_name(cell, state);
  }
  return text;
}

}  // namespace

std::string operation_family(const std::string& op) {
  const Stages stages = operation_stages(op, {.in = 8, .out = 8});
  if (stages.empty()) return "skip";
  std::string family = "convolution";
  for (const Stage& stage : stages) {
    if (stage.kind == StageKind::zero) return "none";
    if (stage.kind == StageKind::max_pool || stage.kind == StageKind::avg_pool) family = "pool";
    if (stage.kind != StageKind::conv || stage.groups == 1) continue;
    return stage.dilation > 1 ? "dilated" : "separable";
  }
  return family;
}

std::string state_name(const CellGenotype& cell, int state) {
  if (state >= cell.inputs) return std::to_string(state);
  return cell.inputs == 1 ? "in" : fmt::format("c_{{k-{}}}", cell.inputs - state);
}

std::string to_dot(const Genotype& genotype, const OperationPaint& paint) {
  std::string text = fmt::format(
      "digraph \"{}\" {{\n  rankdir=LR;\n  newrank=true;\n  fontname=\"Helvetica\";\n"
      "  node [shape=box, style=\"rounded,filled\", fontname=\"Helvetica\", fontsize=12, color=\"#404040\"];\n"
      "  edge [fontname=\"Helvetica\", fontsize=10];\n",
      escape(genotype.space));
  // dot stacks clusters from the bottom up.
  for (size_t c = genotype.cells.size(); c-- > 0;) {
    const CellGenotype& cell = genotype.cells[c];
    text += fmt::format("  subgraph cluster_{} {{\n    label=\"{}\";\n    labeljust=l;\n    color=\"#cccccc\";\n", c,
                        escape(cell.type));
    text += CellDrawing(cell, fmt::format("c{}_", c), paint).text() + "  }\n";
  }
  return text + "}\n";
}

std::string wiring_to_dot(const CellGenotype& cell, const std::string& title, int number) {
  const auto name = [&](int state) { return fmt::format("w{}_{}", number, state); };
  const std::string out = fmt::format("w{}_out", number);
  std::string text = fmt::format(
      "digraph w{0} {{\n  rankdir=LR;\n  nodesep=0.15;\n  ranksep=0.35;\n"
      "  node [shape=circle, style=filled, fontname=\"Helvetica\", fontsize=11, width=0.32, fixedsize=true, "
      "color=\"#404040\"];\n  edge [arrowsize=0.5, penwidth=1.4];\n  subgraph cluster_{0} {{\n"
      "    label=\"{1}\"; fontname=\"Helvetica\"; fontsize=13; color=\"#ffffff00\";\n",
      number, escape(title));
  for (int state = 0; state < cell.inputs; ++state) {
    text += fmt::format("    {} [label=\"{}\", fillcolor=\"#d5e8d4\"];\n", name(state), state);
  }
  for (size_t n = 0; n < cell.nodes.size(); ++n) {
    const int to = cell.inputs + static_cast<int>(n);
    text += fmt::format("    {} [label=\"{}\", fillcolor=\"#dae8fc\"];\n", name(to), to);
    for (const GenotypeEdge& edge : cell.nodes[n].edges) {
      if (edge.op == "none") continue;
      text += fmt::format("    {} -> {} [color=\"{}\"];\n", name(edge.from), name(to), colour(edge.op));
    }
  }
  text += fmt::format("    {} [label=\"\", shape=box, width=0.12, fillcolor=\"#fff2cc\"];\n", out);
  for (int state : cell.output) text += fmt::format("    {} -> {} [color=\"#404040\"];\n", name(state), out);
  if (cell.inputs > 1) {
    text += "    { rank=source;";
    for (int state = 0; state < cell.inputs; ++state) text += " " + name(state) + ";";
    text += " }\n";
  }
  return text + fmt::format("    {{ rank=sink; {}; }}\n  }}\n}}\n", out);
}

std::string describe(const Genotype& genotype) {
  std::string text;
  for (const CellGenotype& cell : genotype.cells) {
    const std::vector<size_t> columns = column_widths(cell);
    text += fmt::format("{} {} (depth {}, width {:.3g}c)\n", genotype.space,
                        cell.type == "cell" ? "cell" : cell.type + " cell", cell_depth(cell), cell_width(cell));
    for (size_t n = 0; n < cell.nodes.size(); ++n) {
      text += fmt::format("  {:>3} = {}\n", cell.inputs + n, describe_node(cell, cell.nodes[n], columns));
    }
    text += fmt::format("  {:>3} = {}\n", "out", describe_output(cell));
  }
  return text;
}

}  // namespace nascent
