// Our own form, for genotypes of any space:
//
//   {"space": "darts",
//    "cells": [{"type": "normal", "inputs": 2,
//               "nodes": [{"edges": [["sep_conv_3x3", 0], ["skip_connect", 1]]}, ...],
//               "output": [2, 3, 4, 5]}]}
//
// Where operations stand on nodes, edges are plain numbers: {"op": "maxpool3x3", "edges": [0, 2]}.
#include <algorithm>

#include "nascent/space/genotype_form.h"
#include "nascent/space/json_reader.h"

namespace nascent {

namespace {

std::string quote(const std::string& text) { return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace); }

std::string node_text(const GenotypeNode& node) {
  std::vector<std::string> edges;
  for (const GenotypeEdge& edge : node.edges) {
    const bool plain = !node.op.empty() && edge.op == "skip_connect";
    edges.push_back(plain ? std::to_string(edge.from) : fmt::format("[{}, {}]", quote(edge.op), edge.from));
  }
  const std::string op = node.op.empty() ? "" : fmt::format("\"op\": {}, ", quote(node.op));
  return fmt::format("{{{}\"edges\": [{}]}}", op, join(edges, ", "));
}

std::string cell_text(const CellGenotype& cell) {
  std::vector<std::string> nodes;
  for (const GenotypeNode& node : cell.nodes) nodes.push_back("\n        " + node_text(node));
  return fmt::format(
      "\n    {{\n      \"type\": {},\n      \"inputs\": {},\n      \"nodes\": [{}],\n      \"output\": [{}]\n    }}",
      quote(cell.type), cell.inputs, join(nodes, ","), fmt::join(cell.output, ", "));
}

std::string read_op(const JsonReader& reader) {
  const std::string op = reader.text();
  if (const std::string unknown = unknown_operation(op); !unknown.empty()) reader.fail_here(unknown);
  return op;
}

GenotypeNode read_node(const JsonReader& reader, int states) {
  reader.check_keys({"op", "edges"});
  GenotypeNode node;
  if (reader.has("op")) node.op = read_op(reader.at("op"));
  for (const JsonReader& edge : reader.at("edges").items()) {
    if (edge.is_number()) {
      node.edges.push_back({edge.number(0, states - 1)});
      continue;
    }
    const std::vector<JsonReader> pair = edge.items();
    if (pair.size() != 2) edge.fail_here("expected an operation and a state, [\"skip_connect\", 0], or a state");
    node.edges.push_back({pair[1].number(0, states - 1), read_op(pair[0])});
  }
  return node;
}

CellGenotype read_cell(const JsonReader& reader) {
  reader.check_keys({"type", "inputs", "nodes", "output"});
  CellGenotype cell{.type = reader.at("type").text(), .inputs = reader.at("inputs").number(1, 100)};
  int states = cell.inputs;
  for (const JsonReader& node : reader.at("nodes").items()) cell.nodes.push_back(read_node(node, states++));
  for (const JsonReader& state : reader.at("output").items()) {
    cell.output.push_back(state.number(0, states - 1));
    if (std::count(cell.output.begin(), cell.output.end(), cell.output.back()) > 1)
      state.fail_here("the state is listed twice");
  }
  if (cell.output.empty()) reader.fail_here("the output needs at least one state");
  return cell;
}

class JsonForm : public GenotypeForm {
 public:
  std::string obstacle(const Genotype&) const override { return ""; }

  std::string write(const Genotype& genotype) const override {
    std::vector<std::string> cells;
    for (const CellGenotype& cell : genotype.cells) cells.push_back(cell_text(cell));
    return fmt::format("{{\n  \"space\": {},\n  \"cells\": [{}\n  ]\n}}\n", quote(genotype.space), join(cells, ","));
  }

  bool recognises(const std::string& text) const override {
    return trim(text).starts_with("{") && text.find("\"matrix\"") == std::string::npos;
  }

  Genotype read(const std::string& text, const std::string& space) const override {
    const Json json = JsonReader::parse(text, "the JSON genotype");
    const JsonReader reader(json, "the JSON genotype");
    reader.check_keys({"space", "cells"});
    Genotype genotype{.space = space};
    if (space.empty() || reader.has("space")) genotype.space = reader.at("space").text();
    for (const JsonReader& cell : reader.at("cells").items()) {
      genotype.cells.push_back(read_cell(cell));
      const auto same = [&](const CellGenotype& other) { return other.type == genotype.cells.back().type; };
      if (std::count_if(genotype.cells.begin(), genotype.cells.end(), same) > 1)
        cell.fail_here("there is another cell of this type");
    }
    if (genotype.cells.empty()) reader.at("cells").fail_here("a genotype needs at least one cell");
    return genotype;
  }
};

}  // namespace

NASCENT_REGISTER(GenotypeForm, "json", "JSON with space and cells, for genotypes of any space",
                 [] { return std::make_unique<JsonForm>(); });

}  // namespace nascent
