#include "nascent/space/nasbench101.h"

#include <algorithm>

#include "nascent/core/error.h"
#include "nascent/space/nasbench101_graph.h"

namespace nascent {

namespace {

constexpr int kVertices = 7;

bool is_state(const CellGenotype& cell, int state) {
  return state >= 0 && state <= static_cast<int>(cell.nodes.size());
}

std::vector<bool> reached_from_input(const CellGenotype& cell) {
  std::vector<bool> reached(cell.nodes.size() + 1, false);
  reached[0] = true;
  for (size_t n = 0; n < cell.nodes.size(); ++n) {
    for (const GenotypeEdge& edge : cell.nodes[n].edges) {
      if (is_state(cell, edge.from) && reached[edge.from]) reached[n + 1] = true;
    }
  }
  return reached;
}

std::vector<bool> leading_to_output(const CellGenotype& cell) {
  std::vector<bool> leads(cell.nodes.size() + 1, false);
  for (int state : cell.output) {
    if (is_state(cell, state)) leads[state] = true;
  }
  for (size_t n = cell.nodes.size(); n-- > 0;) {
    if (!leads[n + 1]) continue;
    for (const GenotypeEdge& edge : cell.nodes[n].edges) {
      if (is_state(cell, edge.from)) leads[edge.from] = true;
    }
  }
  return leads;
}

}  // namespace

CellGenotype prune(const CellGenotype& cell) {
  const std::vector<bool> reached = reached_from_input(cell), leads = leading_to_output(cell);
  if (!leads[0]) fail("Cell '{}': no path leads from its input to its output.", cell.type);
  std::vector<int> new_state(cell.nodes.size() + 1, -1);
  CellGenotype pruned{.type = cell.type, .inputs = 1};
  new_state[0] = 0;
  for (size_t n = 0; n < cell.nodes.size(); ++n) {
    if (!reached[n + 1] || !leads[n + 1]) continue;
    GenotypeNode node{.op = cell.nodes[n].op};
    for (GenotypeEdge edge : cell.nodes[n].edges) {
      if (!is_state(cell, edge.from) || new_state[edge.from] < 0) continue;
      edge.from = new_state[edge.from];
      node.edges.push_back(std::move(edge));
    }
    std::sort(node.edges.begin(), node.edges.end());
    pruned.nodes.push_back(std::move(node));
    new_state[n + 1] = static_cast<int>(pruned.nodes.size());
  }
  for (int state : cell.output) {
    if (is_state(cell, state) && new_state[state] >= 0) pruned.output.push_back(new_state[state]);
  }
  std::sort(pruned.output.begin(), pruned.output.end());
  return pruned;
}

uint64_t graph_hash(const CellGenotype& cell) { return hash(LabelledGraph(prune(cell))); }

Genotype to_nasbench101(const Genotype& genotype) {
  if (genotype.cells.size() != 1 || genotype.cells[0].inputs != 1) {
    fail("A genotype of space '{}' has no NAS-Bench-101 form: that is one cell with one input.", genotype.space);
  }
  Genotype converted{.space = "nasbench101", .cells = genotype.cells};
  CellGenotype& cell = converted.cells[0];
  for (const GenotypeNode& node : cell.nodes) {
    if (node.op.empty())
      fail("A genotype of space '{}' has no NAS-Bench-101 form: its operations are on edges.", genotype.space);
  }
  cell.type = "cell";
  while (static_cast<int>(cell.nodes.size()) < kVertices - 2) cell.nodes.push_back({.op = "conv1x1-bn-relu"});
  return converted;
}

AdjacencyMatrix adjacency_matrix(const CellGenotype& cell) {
  const size_t vertices = cell.nodes.size() + 2;
  AdjacencyMatrix matrix(vertices, std::vector<int>(vertices, 0));
  for (size_t n = 0; n < cell.nodes.size(); ++n) {
    for (const GenotypeEdge& edge : cell.nodes[n].edges) matrix.at(edge.from).at(n + 1) = 1;
  }
  for (int state : cell.output) matrix.at(state).back() = 1;
  return matrix;
}

CellGenotype cell_of_matrix(const AdjacencyMatrix& matrix, const std::vector<std::string>& ops) {
  CellGenotype cell{.type = "cell", .inputs = 1};
  const size_t vertices = matrix.size();
  for (size_t to = 1; to < vertices; ++to) {
    GenotypeNode node;
    for (size_t from = 0; from < to; ++from) {
      if (matrix[from][to]) node.edges.push_back({static_cast<int>(from)});
    }
    if (to + 1 < vertices) {
      node.op = ops.at(to - 1);
      cell.nodes.push_back(std::move(node));
    } else {
      for (const GenotypeEdge& edge : node.edges) cell.output.push_back(edge.from);
    }
  }
  return cell;
}

std::vector<int> vertex_channels(const CellGenotype& cell, int out) {
  std::vector<int> channels(cell.nodes.size() + 1, 0);
  std::vector<int> joined;
  for (int state : cell.output) {
    if (state > 0) joined.push_back(state);
  }
  const int count = static_cast<int>(joined.size());
  if (count > out) fail("network.channels is {}, too few for a cell that concatenates {} nodes.", out, count);
  for (int i = 0; i < count; ++i) channels[joined[i]] = out / count + (i < out % count ? 1 : 0);
  const std::vector<int> fixed = channels;
  for (int n = static_cast<int>(cell.nodes.size()); n > 0; --n) {
    for (const GenotypeEdge& edge : cell.nodes[n - 1].edges) {
      if (edge.from > 0 && fixed[edge.from] == 0) channels[edge.from] = std::max(channels[edge.from], channels[n]);
    }
  }
  channels.erase(channels.begin());
  return channels;
}

}  // namespace nascent
