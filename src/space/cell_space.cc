#include "nascent/space/cell_space.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "nascent/core/error.h"
#include "nascent/space/operation.h"
#include "nascent/space/plan.h"

namespace nascent {

NodeChoices any_inputs(int states_before, int keep) { return {states(0, states_before - 1), keep}; }

CellChoices dense_cell(const std::string& type, int inputs, int nodes, int keep) {
  CellChoices cell{.type = type, .inputs = inputs};
  for (int i = 0; i < nodes; ++i) cell.nodes.push_back(any_inputs(inputs + i, keep));
  cell.output = states(inputs, inputs + nodes - 1);
  return cell;
}

std::vector<int> states(int first, int last) {
  std::vector<int> all(std::max(0, last - first + 1));
  std::iota(all.begin(), all.end(), first);
  return all;
}

std::vector<int> loose_ends(const CellGenotype& cell) {
  std::set<int> taken;
  for (const GenotypeNode& node : cell.nodes) {
    for (const GenotypeEdge& edge : node.edges) taken.insert(edge.from);
  }
  std::vector<int> loose;
  for (int state : states(cell.inputs, cell.inputs + static_cast<int>(cell.nodes.size()) - 1)) {
    if (!taken.count(state)) loose.push_back(state);
  }
  return loose;
}

CellSpace::CellSpace(SpaceDescription description) {
  name_ = std::move(description.name);
  description_ = std::move(description.description);
  skeleton_ = std::move(description.skeleton);
  ops_ = genotype_ops_ = std::move(description.ops);
  for (const std::string& op : description.search_only) std::erase(genotype_ops_, op);
  cells_ = std::move(description.cells);
  own_cells_ = description.own_cells;
  default_cells_ = description.default_cells;
  default_channels_ = description.default_channels;
  check_description();
  for (const CellChoices& cell : cells_) {
    CellCode code;
    for (const NodeChoices& node : cell.nodes) {
      code.nodes.emplace_back(cell, node, genotype_ops_);
      if (code.nodes.back().count() > kMaxExact) {
        fail("cell '{}': a node has {:.3g} choices, more than the 2^53 that can be numbered. Keep fewer inputs.",
             cell.type, code.nodes.back().count());
      }
      count_ *= code.nodes.back().count();
    }
    if (cell.output_keep > 0) code.outputs = binomial(static_cast<int>(cell.output.size()), cell.output_keep);
    count_ *= code.outputs;
    codes_.push_back(std::move(code));
  }
}

void CellSpace::check_description() const {
  if (!Skeleton::Registry::instance().contains(skeleton_)) Skeleton::Registry::instance().at(skeleton_);
  if (genotype_ops_.empty()) fail("ops: a space needs at least one operation that a genotype may contain.");
  std::set<std::string> seen;
  for (const std::string& op : ops_) {
    Operation::Registry::instance().at(op);
    if (!seen.insert(op).second) fail("ops: '{}' is listed twice.", op);
  }
  if (cells_.empty()) fail("cell: a space needs at least one type of cell.");
  seen.clear();
  for (const CellChoices& cell : cells_) {
    if (!seen.insert(cell.type).second) fail("cell: there are two cells of type '{}'.", cell.type);
    check_cell(cell);
  }
  if (default_cells_ < 1) fail("cells: {} is not at least 1.", default_cells_);
  if (default_channels_ < 1) fail("channels: {} is not at least 1.", default_channels_);
}

void CellSpace::check_cell(const CellChoices& cell) const {
  if (cell.type.empty()) fail("cell: the type of a cell must not be empty.");
  if (cell.inputs < 1 || cell.inputs > 2) {
    fail("cell '{}': inputs is {}, but a cell has 1 input (the cell before) or 2 (the two cells before).", cell.type,
         cell.inputs);
  }
  if (cell.nodes.empty()) fail("cell '{}': nodes: a cell needs at least one node.", cell.type);
  int state = cell.inputs;
  for (const NodeChoices& node : cell.nodes) {
    if (node.inputs.empty()) fail("cell '{}', node {}: inputs: there are none to take.", cell.type, state);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const int from = node.inputs[i];
      if (from < 0 || from >= state) {
        fail("cell '{}', node {}: inputs: {} is not one of the states before it, 0 to {}.", cell.type, state, from,
             state - 1);
      }
      if (i > 0 && node.inputs[i - 1] >= from) {
        fail("cell '{}', node {}: inputs: they must ascend and differ.", cell.type, state);
      }
    }
    const int available = static_cast<int>(node.inputs.size());
    if (node.keep < 1 || (node.keep > available && !cell.repeat_inputs)) {
      fail("cell '{}', node {}: keep is {}, but the node can keep 1 to {} of its {} inputs.", cell.type, state,
           node.keep, available, available);
    }
    ++state;
  }
  check_output(cell);
}

void CellSpace::check_output(const CellChoices& cell) const {
  const int end = cell.inputs + static_cast<int>(cell.nodes.size());
  // Only NAS-Bench-101 knows how to add a cell's input to its output.
  const int first = skeleton_ == "nasbench101" ? 0 : cell.inputs;
  for (size_t i = 0; i < cell.output.size(); ++i) {
    if (cell.output[i] < first || cell.output[i] >= end) {
      fail("cell '{}': output: {} is not one of the states {} to {}.", cell.type, cell.output[i], first, end - 1);
    }
    if (i > 0 && cell.output[i - 1] >= cell.output[i]) {
      fail("cell '{}': output: the states must ascend and differ.", cell.type);
    }
  }
  if (cell.output.empty() || cell.output.back() < cell.inputs) {
    fail("cell '{}': output: it must contain at least one node.", cell.type);
  }
  if (cell.output_keep < 0 || cell.output_keep > static_cast<int>(cell.output.size())) {
    fail("cell '{}': output-keep is {}, but there are {} states to keep from.", cell.type, cell.output_keep,
         cell.output.size());
  }
}

std::string CellSpace::type_at(int index, int count, bool reduction) const {
  if (!own_cells_) return Space::type_at(index, count, reduction);
  if (count != static_cast<int>(cells_.size())) {
    fail(
        "In the space '{}' each of the {} cells has an architecture of its own, so a network of {} cells is not "
        "possible. Leave network.cells at its default.",
        name_, cells_.size(), count);
  }
  return cells_[index].type;
}

Genotype CellSpace::from_digits(const std::function<int64_t(int64_t)>& digit) const {
  Genotype genotype{.space = name_, .cells = std::vector<CellGenotype>(cells_.size())};
  for (size_t c = cells_.size(); c-- > 0;) {
    const CellChoices& choices = cells_[c];
    CellGenotype& cell = genotype.cells[c];
    cell = {.type = choices.type, .inputs = choices.inputs};
    cell.output = choices.output;
    if (choices.output_keep > 0) {
      const auto code = digit(static_cast<int64_t>(codes_[c].outputs));
      cell.output.clear();
      for (int i : unrank_choice(static_cast<int>(choices.output.size()), choices.output_keep, code)) {
        cell.output.push_back(choices.output[i]);
      }
    }
    cell.nodes.resize(choices.nodes.size());
    for (size_t n = cell.nodes.size(); n-- > 0;) {
      const NodeCode& code = codes_[c].nodes[n];
      cell.nodes[n] = code.decode(digit(static_cast<int64_t>(code.count())));
    }
    if (choices.loose_output) cell.output = loose_ends(cell);
  }
  return genotype;
}

Genotype CellSpace::sample(RandomStream& random) const {
  return from_digits([&](int64_t radix) { return random.below(radix); });
}

void CellSpace::require_exact() const {
  if (count_ <= kMaxExact) return;
  fail("The space '{}' has {:.3g} architectures, more than the 2^53 that can be numbered. Sample from it instead.",
       name_, count_);
}

void CellSpace::enumerate(const std::function<bool(const Genotype&)>& visit) const {
  require_exact();
  for (double index = 0; index < count_; ++index) {
    if (!visit(at(index))) return;
  }
}

Genotype CellSpace::at(double index) const {
  require_exact();
  if (!(index >= 0 && index < count_) || index != static_cast<double>(static_cast<int64_t>(index))) {
    fail("The space '{}' has no architecture {}; they are numbered 0 to {:.0f}.", name_, index, count_ - 1);
  }
  auto rest = static_cast<int64_t>(index);
  return from_digits([&](int64_t radix) {
    const int64_t digit = rest % radix;
    rest /= radix;
    return digit;
  });
}

double CellSpace::index_of(const Genotype& genotype) const {
  require_exact();
  validate(genotype);
  double index = 0;
  for (size_t c = 0; c < cells_.size(); ++c) {
    const CellGenotype& cell = genotype.cell(cells_[c].type);
    for (size_t n = 0; n < cell.nodes.size(); ++n) {
      index = index * codes_[c].nodes[n].count() + static_cast<double>(codes_[c].nodes[n].encode(cell.nodes[n]));
    }
    if (cells_[c].output_keep == 0) continue;
    const std::vector<int>& all = cells_[c].output;
    std::vector<int> kept = cell.output;
    std::sort(kept.begin(), kept.end());
    for (int& state : kept) state = static_cast<int>(std::find(all.begin(), all.end(), state) - all.begin());
    index = index * codes_[c].outputs + static_cast<double>(rank_choice(static_cast<int>(all.size()), kept));
  }
  return index;
}

}  // namespace nascent
