#include "nascent/search/architecture_code.h"

#include <algorithm>

#include "nascent/core/error.h"
#include "nascent/space/cell_space.h"

namespace nascent {
namespace {

int index_of(const std::vector<std::string>& names, const std::string& name) {
  const auto it = std::find(names.begin(), names.end(), name);
  if (it == names.end()) fail("The genotype has the operation '{}', which the space does not know.", name);
  return static_cast<int>(it - names.begin());
}

CellGenotype decode_cell(const Space& space, const CellChoices& choices, const CellCode& code) {
  CellGenotype cell{choices.type, choices.inputs, std::vector<GenotypeNode>(choices.nodes.size()), choices.output};
  const auto groups = edge_groups(choices);
  for (size_t g = 0; g < groups.size(); ++g) {
    const EdgeGroup& group = groups[g];
    if (group.node < 0) {
      cell.output.clear();
      for (const int position : code.kept[g]) cell.output.push_back(group.states[static_cast<size_t>(position)]);
      continue;
    }
    for (const int position : code.kept[g]) {
      const auto at = static_cast<size_t>(position);
      const std::string op =
          choices.ops_on_nodes ? "skip_connect" : space.ops()[static_cast<size_t>(code.ops[group.rows[at]])];
      cell.nodes[static_cast<size_t>(group.node)].edges.push_back({group.states[at], op});
    }
  }
  if (choices.ops_on_nodes) {
    for (size_t node = 0; node < cell.nodes.size(); ++node)
      cell.nodes[node].op = space.ops()[static_cast<size_t>(code.ops[node])];
  }
  if (choices.loose_output) cell.output = loose_ends(cell);
  return cell;
}

std::vector<int> kept_output(const EdgeGroup& group, const CellGenotype& cell) {
  std::vector<int> kept;
  for (size_t i = 0; i < group.states.size(); ++i) {
    if (std::find(cell.output.begin(), cell.output.end(), group.states[i]) != cell.output.end())
      kept.push_back(static_cast<int>(i));
  }
  return kept;
}

CellCode encode_cell(const Space& space, const CellChoices& choices, const CellGenotype& cell) {
  CellCode code{{}, std::vector<int>(static_cast<size_t>(Space::sites(choices)), -1)};
  for (const EdgeGroup& group : edge_groups(choices)) {
    if (group.node < 0) {
      code.kept.push_back(kept_output(group, cell));
      continue;
    }
    std::vector<int> kept;
    for (const GenotypeEdge& edge : cell.nodes[static_cast<size_t>(group.node)].edges) {
      const auto it = std::find(group.states.begin(), group.states.end(), edge.from);
      const int position = static_cast<int>(it - group.states.begin());
      if (it == group.states.end() || std::find(kept.begin(), kept.end(), position) != kept.end()) {
        fail(
            "Node {} of the {} cell takes state {} twice or may not take it; with shared weights each of its inputs "
            "is another state.",
            group.node, choices.type, edge.from);
      }
      kept.push_back(position);
      if (!choices.ops_on_nodes) code.ops[static_cast<size_t>(group.rows[position])] = index_of(space.ops(), edge.op);
    }
    std::sort(kept.begin(), kept.end());
    code.kept.push_back(std::move(kept));
  }
  if (choices.ops_on_nodes) {
    for (size_t node = 0; node < cell.nodes.size(); ++node) code.ops[node] = index_of(space.ops(), cell.nodes[node].op);
  }
  return code;
}

}  // namespace

std::vector<EdgeGroup> edge_groups(const CellChoices& cell) {
  std::vector<EdgeGroup> groups;
  const auto edges = Space::edges(cell);
  for (size_t row = 0; row < edges.size(); ++row) {
    const int node = edges[row].to < 0 ? -1 : edges[row].to - cell.inputs;
    if (groups.empty() || groups.back().node != node) {
      const int keep = node < 0 ? cell.output_keep : cell.nodes[static_cast<size_t>(node)].keep;
      if (keep < 1) {
        fail(
            "A node of the {} cell keeps any number of inputs; shared weights and distributions over architectures "
            "need a space whose nodes keep a fixed number.",
            cell.type);
      }
      groups.push_back({.node = node, .keep = keep});
    }
    groups.back().rows.push_back(static_cast<int>(row));
    groups.back().states.push_back(edges[row].from);
  }
  for (EdgeGroup& group : groups) group.keep = std::min(group.keep, static_cast<int>(group.rows.size()));
  return groups;
}

Genotype decode(const Space& space, const std::vector<CellCode>& codes) {
  Genotype genotype{space.name(), {}};
  for (size_t i = 0; i < codes.size(); ++i) genotype.cells.push_back(decode_cell(space, space.cells()[i], codes[i]));
  space.validate(genotype);
  return genotype;
}

std::vector<CellCode> encode(const Space& space, const Genotype& genotype) {
  std::vector<CellCode> codes;
  for (const CellChoices& choices : space.cells())
    codes.push_back(encode_cell(space, choices, genotype.cell(choices.type)));
  return codes;
}

std::vector<int> genotype_op_indices(const Space& space) {
  std::vector<int> indices;
  for (const std::string& op : space.genotype_ops()) indices.push_back(index_of(space.ops(), op));
  return indices;
}

}  // namespace nascent
