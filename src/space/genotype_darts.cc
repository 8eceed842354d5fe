// The form of DARTS: Genotype(normal=[('sep_conv_3x3', 0), ...], normal_concat=range(2, 6), reduce=...,
// reduce_concat=...), two edges a node.
#include <algorithm>
#include <array>
#include <map>

#include "nascent/core/error.h"
#include "nascent/space/genotype_form.h"
#include "nascent/space/scanner.h"
#include "nascent/space/space.h"

namespace nascent {

namespace {

const std::vector<std::string> kFields = {"normal", "normal_concat", "reduce", "reduce_concat"};

std::vector<GenotypeNode> read_nodes(Scanner& scanner) {
  std::vector<GenotypeNode> nodes;
  scanner.expect("[");
  const size_t begin = scanner.position();
  int edges = 0;
  for (; !scanner.accept("]"); ++edges) {
    if (edges > 0) {
      scanner.expect(",");
      if (scanner.accept("]")) break;
    }
    if (edges == 2 * kMaxNodes) scanner.fail_here(fmt::format("there are more than {} nodes", kMaxNodes));
    if (edges % 2 == 0) nodes.emplace_back();
    scanner.expect("(");
    const size_t op_place = scanner.position();
    const std::string op = scanner.quoted();
    if (const std::string unknown = unknown_operation(op); !unknown.empty()) scanner.fail_at(op_place, unknown);
    scanner.expect(",");
    const size_t from_place = scanner.position();
    const int from = scanner.number(2 * kMaxNodes), states = static_cast<int>(nodes.size()) + 1;
    if (from >= states) {
      scanner.fail_at(from_place, fmt::format("node {} takes state {}, but the states before it are 0 to {}", states,
                                              from, states - 1));
    }
    scanner.accept(",");
    scanner.expect(")");
    nodes.back().edges.push_back({from, op});
  }
  if (nodes.empty()) scanner.fail_at(begin, "a cell needs at least one node");
  if (edges % 2 == 1) scanner.fail_here("the last node has one edge, but each node has two");
  return nodes;
}

std::vector<int> read_concat(Scanner& scanner) {
  std::vector<int> concat;
  if (scanner.accept("range")) {
    scanner.expect("(");
    int first = scanner.number(2 * kMaxNodes), last = first;
    if (scanner.accept(",")) {
      last = scanner.number(2 * kMaxNodes);
    } else {
      first = 0;
    }
    scanner.expect(")");
    for (int state = first; state < last; ++state) concat.push_back(state);
    return concat;
  }
  const bool tuple = scanner.accept("(");
  if (!tuple) scanner.expect("[");
  const std::string_view close = tuple ? ")" : "]";
  while (!scanner.accept(close)) {
    if (!concat.empty()) {
      scanner.expect(",");
      if (scanner.accept(close)) break;
    }
    concat.push_back(scanner.number(2 * kMaxNodes));
  }
  return concat;
}

void check_concat(const Scanner& scanner, size_t place, const CellGenotype& cell) {
  const int states = cell.inputs + static_cast<int>(cell.nodes.size());
  if (cell.output.empty()) scanner.fail_at(place, "the output of a cell needs at least one state");
  std::vector<int> sorted = cell.output;
  std::sort(sorted.begin(), sorted.end());
  if (sorted.back() >= states) {
    scanner.fail_at(place, fmt::format("the cell '{}' has states 0 to {}, but its output takes {}", cell.type,
                                       states - 1, sorted.back()));
  }
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end()) scanner.fail_at(place, fmt::format("the output takes state {} twice", *twice));
}

// Whether the cells have as many nodes as published ones: with another number, it is rather the text that is wrong.
bool is_of_usual_size(const Genotype& genotype) {
  return std::all_of(genotype.cells.begin(), genotype.cells.end(),
                     [](const CellGenotype& cell) { return cell.nodes.size() == 4 || cell.nodes.size() == 5; });
}

// The first shipped space that the genotype belongs to.
std::string space_of(const Genotype& genotype) {
  std::string reasons;
  for (const std::string name : {"darts", "nasnet"}) {
    try {
      find_space(name)->validate(genotype);
      return name;
    } catch (const Error& error) {
      reasons += std::string("\n  ") + error.what();
    }
  }
  if (is_of_usual_size(genotype)) {
    find_space("cells")->validate(genotype);
    return "cells";
  }
  fail(
      "The genotype belongs neither to space 'darts' nor to 'nasnet'; say which space it is of ('cells' takes any "
      "wiring), or correct it:{}",
      reasons);
}

std::string concat_text(const std::vector<int>& states) {
  for (size_t i = 1; i < states.size(); ++i) {
    if (states[i] != states[i - 1] + 1) return fmt::format("[{}]", fmt::join(states, ", "));
  }
  return fmt::format("range({}, {})", states.front(), states.back() + 1);
}

std::string nodes_text(const CellGenotype& cell) {
  std::vector<std::string> pairs;
  for (const GenotypeNode& node : cell.nodes) {
    for (const GenotypeEdge& edge : node.edges) pairs.push_back(fmt::format("('{}', {})", edge.op, edge.from));
  }
  return "[" + join(pairs, ", ") + "]";
}

class DartsForm : public GenotypeForm {
 public:
  std::string obstacle(const Genotype& genotype) const override {
    const bool types =
        genotype.cells.size() == 2 && genotype.cells[0].type == "normal" && genotype.cells[1].type == "reduce";
    if (!types) return "it has other cells than 'normal' and 'reduce', in this order";
    for (const CellGenotype& cell : genotype.cells) {
      if (cell.inputs != 2) return "its cells do not have two inputs";
      if (cell.nodes.empty() || cell.output.empty()) return "it has an empty cell";
      for (const GenotypeNode& node : cell.nodes) {
        if (node.edges.size() != 2) return "it has nodes with another number of edges than two";
        if (!node.op.empty()) return "its operations are on nodes";
      }
    }
    return "";
  }

  std::string write(const Genotype& genotype) const override {
    const CellGenotype &normal = genotype.cells[0], &reduce = genotype.cells[1];
    return fmt::format("Genotype(normal={}, normal_concat={}, reduce={}, reduce_concat={})", nodes_text(normal),
                       concat_text(normal.output), nodes_text(reduce), concat_text(reduce.output));
  }

  bool recognises(const std::string& text) const override {
    return !trim(text).starts_with("{") && text.find("Genotype") != std::string::npos;
  }

  Genotype read(const std::string& text, const std::string& space) const override;
};

Genotype DartsForm::read(const std::string& text, const std::string& space) const {
  Scanner scanner(text, "the DARTS genotype");
  if (!scanner.accept("Genotype")) {
    scanner.word();
    scanner.expect("=");
    scanner.expect("Genotype");
  }
  scanner.expect("(");
  std::map<std::string, size_t> places;
  Genotype genotype{.space = space, .cells = {{.type = "normal"}, {.type = "reduce"}}};
  while (!scanner.accept(")")) {
    if (!places.empty()) {
      scanner.expect(",");
      if (scanner.accept(")")) break;
    }
    const size_t name_place = scanner.position();
    const std::string name = scanner.word();
    if (std::find(kFields.begin(), kFields.end(), name) == kFields.end()) {
      scanner.fail_at(name_place, fmt::format("there is no field '{}'.{} Expected {}", name, suggestion(name, kFields),
                                              join(kFields, ", ")));
    }
    scanner.expect("=");
    if (!places.emplace(name, scanner.position()).second) scanner.fail_at(name_place, "this field was given before");
    CellGenotype& cell = genotype.cells[name.starts_with("normal") ? 0 : 1];
    if (name.ends_with("_concat")) {
      cell.output = read_concat(scanner);
    } else {
      cell.nodes = read_nodes(scanner);
    }
  }
  for (const std::string& field : kFields) {
    if (!places.count(field)) scanner.fail_here(fmt::format("the field '{}' is missing", field));
  }
  scanner.expect_end();
  check_concat(scanner, places["normal_concat"], genotype.cells[0]);
  check_concat(scanner, places["reduce_concat"], genotype.cells[1]);
  if (space.empty()) genotype.space = space_of(genotype);
  return genotype;
}

}  // namespace

NASCENT_REGISTER(GenotypeForm, "darts", "Genotype(normal=[('sep_conv_3x3', 0), ...], ...), as DARTS prints it",
                 [] { return std::make_unique<DartsForm>(); });

}  // namespace nascent
