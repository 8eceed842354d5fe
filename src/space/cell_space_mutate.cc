// Neighbours of a genotype in a CellSpace: one operation, one input of a node, or one state of the output is exchanged.
#include <algorithm>

#include "nascent/core/error.h"
#include "nascent/space/cell_space.h"

namespace nascent {

namespace {

// Something that can be exchanged for one of `options`, none of which is what stands there now.
struct Move {
  std::string* op = nullptr;
  int* state = nullptr;
  std::vector<std::string> ops{};
  std::vector<int> states{};
};

void add_op_move(std::vector<Move>& moves, std::string& op, std::vector<std::string> ops) {
  std::erase(ops, op);
  if (!ops.empty()) moves.push_back({.op = &op, .ops = std::move(ops)});
}

void add_state_move(std::vector<Move>& moves, int& state, std::vector<int> states, const std::vector<int>& excluded) {
  std::erase_if(states, [&](int s) { return std::find(excluded.begin(), excluded.end(), s) != excluded.end(); });
  if (!states.empty()) moves.push_back({.state = &state, .states = std::move(states)});
}

void add_node_moves(std::vector<Move>& moves, GenotypeNode& node, const CellChoices& cell, const NodeChoices& choices,
                    const std::vector<std::string>& ops) {
  std::vector<int> taken;
  for (const GenotypeEdge& edge : node.edges) taken.push_back(edge.from);
  for (GenotypeEdge& edge : node.edges) {
    if (!cell.ops_on_nodes) add_op_move(moves, edge.op, ops);
    add_state_move(moves, edge.from, choices.inputs, cell.repeat_inputs ? std::vector<int>{edge.from} : taken);
  }
  if (cell.ops_on_nodes) add_op_move(moves, node.op, ops);
}

}  // namespace

Genotype CellSpace::mutate(const Genotype& genotype, RandomStream& random) const {
  validate(genotype);
  Genotype child = genotype;
  std::vector<Move> moves;
  for (CellGenotype& cell : child.cells) {
    const CellChoices& choices = this->cell(cell.type);
    for (size_t n = 0; n < cell.nodes.size(); ++n) {
      add_node_moves(moves, cell.nodes[n], choices, choices.nodes[n], genotype_ops_);
    }
    if (choices.output_keep == 0) continue;
    const std::vector<int> kept = cell.output;
    for (int& state : cell.output) add_state_move(moves, state, choices.output, kept);
  }
  if (moves.empty()) fail("The space '{}' has only one architecture, so nothing can be changed.", name_);
  Move& move = moves[random.below(static_cast<int64_t>(moves.size()))];
  if (move.op) *move.op = move.ops[random.below(static_cast<int64_t>(move.ops.size()))];
  if (move.state) *move.state = move.states[random.below(static_cast<int64_t>(move.states.size()))];
  for (CellGenotype& cell : child.cells) {
    const CellChoices& choices = this->cell(cell.type);
    if (choices.loose_output) cell.output = loose_ends(cell);
    if (choices.output_keep > 0) std::sort(cell.output.begin(), cell.output.end());
    for (GenotypeNode& node : cell.nodes) std::sort(node.edges.begin(), node.edges.end());
  }
  return child;
}

}  // namespace nascent
