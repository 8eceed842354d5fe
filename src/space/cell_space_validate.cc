// Which genotypes belong to a CellSpace.
#include <algorithm>
#include <set>

#include "nascent/core/error.h"
#include "nascent/space/cell_space.h"

namespace nascent {

namespace {

template <class T>
bool contains(const std::vector<T>& all, const T& one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

std::string list(const std::vector<int>& numbers) {
  std::vector<std::string> words;
  for (int number : numbers) words.push_back(std::to_string(number));
  return join(words, ", ");
}

// Where a wiring that this space refuses is allowed.
std::string other_space(const CellChoices& choices) {
  return choices.inputs == 2 && !choices.ops_on_nodes ? " The space 'cells' takes any wiring." : "";
}

}  // namespace

void CellSpace::validate_as(const Genotype& genotype, Origin origin) const {
  if (genotype.cells.size() != cells_.size()) {
    fail("A genotype of space '{}' has {} type(s) of cell, but this one has {}.", name_, cells_.size(),
         genotype.cells.size());
  }
  for (const CellChoices& choices : cells_) validate_cell(choices, genotype.cell(choices.type), origin);
}

void CellSpace::validate_cell(const CellChoices& choices, const CellGenotype& cell, Origin origin) const {
  if (cell.inputs != choices.inputs || cell.nodes.size() != choices.nodes.size()) {
    fail("Cell '{}' has {} input(s) and {} node(s), but in space '{}' it has {} and {}.", cell.type, cell.inputs,
         cell.nodes.size(), name_, choices.inputs, choices.nodes.size());
  }
  for (size_t node = 0; node < cell.nodes.size(); ++node) validate_node(choices, cell, node, origin);
  validate_output(choices, cell);
}

void CellSpace::validate_node(const CellChoices& choices, const CellGenotype& cell, size_t node, Origin origin) const {
  const std::string where = fmt::format("Cell '{}', node {}", cell.type, cell.inputs + node);
  const std::vector<GenotypeEdge>& edges = cell.nodes[node].edges;
  const NodeChoices& allowed = choices.nodes[node];
  const std::vector<std::string>& ops = origin == Origin::kPublished ? ops_ : genotype_ops_;
  const bool repeats = choices.repeat_inputs || origin == Origin::kPublished;
  const auto check_op = [&](const std::string& op) {
    if (contains(ops, op)) return;
    fail("{}: '{}' is not an operation of a genotype of space '{}'.{} Expected one of {}.", where, op, name_,
         suggestion(op, ops), join(ops, ", "));
  };
  if (static_cast<int>(edges.size()) != allowed.keep) {
    fail("{} has {} edge(s), but in space '{}' it has {}.", where, edges.size(), name_, allowed.keep);
  }
  std::set<int> taken;
  for (const GenotypeEdge& edge : edges) {
    if (!contains(allowed.inputs, edge.from)) {
      fail("{} takes state {}, but in space '{}' it may take only {}.", where, edge.from, name_, list(allowed.inputs));
    }
    if (!taken.insert(edge.from).second && !repeats) {
      fail("{} takes state {} twice, which space '{}' does not allow.{}", where, edge.from, name_,
           other_space(choices));
    }
    if (!choices.ops_on_nodes) check_op(edge.op);
    if (choices.ops_on_nodes && edge.op != "skip_connect") {
      fail("{} has '{}' on an edge, but space '{}' has its operations on nodes.", where, edge.op, name_);
    }
  }
  const std::string& op = cell.nodes[node].op;
  if (choices.ops_on_nodes) check_op(op);
  if (!choices.ops_on_nodes && !op.empty()) {
    fail("{} has the operation '{}', but space '{}' has its operations on edges.", where, op, name_);
  }
}

void CellSpace::validate_output(const CellChoices& choices, const CellGenotype& cell) const {
  std::vector<int> output = cell.output;
  std::sort(output.begin(), output.end());
  const bool distinct = std::adjacent_find(output.begin(), output.end()) == output.end();
  if (choices.output_keep == 0) {
    const std::vector<int> expected = choices.loose_output ? loose_ends(cell) : choices.output;
    if (output == expected) return;
    fail("Cell '{}': the output is made of states {}, but in space '{}' it is made of {}{}.{}", cell.type,
         list(cell.output), name_, list(expected), choices.loose_output ? " (the nodes that no node takes)" : "",
         other_space(choices));
  }
  const bool allowed = std::all_of(output.begin(), output.end(), [&](int s) { return contains(choices.output, s); });
  if (static_cast<int>(output.size()) == choices.output_keep && distinct && allowed) return;
  fail("Cell '{}': the output is made of states {}, but in space '{}' it is made of {} of {}.", cell.type,
       list(cell.output), name_, choices.output_keep, list(choices.output));
}

}  // namespace nascent
