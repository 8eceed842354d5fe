#include "nascent/space/plan_check.h"

#include <algorithm>
#include <set>

#include "nascent/core/error.h"

namespace nascent {

namespace {

constexpr int64_t kMostNumbers = int64_t{1} << 31;  // of an image, and of a weight
constexpr int kMostRows = 1 << 20;                  // of a mixture

void check_shape(const Shape& shape, const std::string& where) {
  const auto fits = [](int side) { return side >= 1 && side <= 1 << 20; };
  if (fits(shape.channels) && fits(shape.height) && fits(shape.width) && shape.count() <= kMostNumbers) return;
  fail("{}: there is no image of {}x{}x{} (channels x height x width).", where, shape.channels, shape.height,
       shape.width);
}

void check_same(const Shape& found, const Shape& expected, const std::string& where) {
  if (found == expected) return;
  fail("{}: {} is written down, but the stages before it give {}.", where, found.text(), expected.text());
}

Shape through(const Stages& stages, Shape shape, const std::string& where) {
  try {
    for (const Stage& stage : stages) {
      check_stage(stage);
      shape = stage.output(shape);
      check_shape(shape, where);
      if (stage.parameters() > kMostNumbers) fail("a {} has too many weights.", name_of(stage.kind));
    }
  } catch (const Error& error) {
    fail("{}: {}", where, error.what());
  }
  return shape;
}

void check_row(int row, const char* what, const std::string& where) {
  if (row >= -1 && row < kMostRows) return;
  fail("{}: {} {} is out of range; it is -1 (none), or counts from 0.", where, what, row);
}

// A cell while it is walked through.
class CellCheck {
 public:
  CellCheck(const CellPlan& cell, std::string where) : cell_(cell), where_(std::move(where)) {}

  // `inputs` are the results of the two blocks before.
  void run(const std::vector<Shape>& inputs) {
    check_inputs(inputs);
    for (size_t n = 0; n < cell_.nodes.size(); ++n) check_node(cell_.nodes[n]);
    check_output();
  }

  int candidates() const { return candidates_; }  // of every site; 0: there is none

 private:
  void check_inputs(const std::vector<Shape>& inputs) {
    const size_t count = cell_.preprocess.size();
    if (count < 1 || count > inputs.size() || cell_.input_shapes.size() != count) {
      fail("{}: a cell has one input or two, but there are {} input shapes and {} ways to preprocess one.", where_,
           cell_.input_shapes.size(), count);
    }
    for (size_t i = 0; i < count; ++i) {
      check_same(cell_.input_shapes[i], inputs[inputs.size() - count + i], where_);
      states_.push_back(through(cell_.preprocess[i], cell_.input_shapes[i], where_));
    }
  }

  void check_names(const std::vector<std::string>& ops, size_t candidates, const std::string& where) const {
    if (candidates < 1) fail("{}: there is no candidate.", where);
    if (ops.size() != candidates) fail("{}: there are {} names for {} candidates.", where, ops.size(), candidates);
    std::set<std::string> names;
    for (const std::string& op : ops) {
      if (!names.insert(op).second) fail("{}: there are two candidates '{}'.", where, op);
      if (op.find('.') != std::string::npos) fail("{}: the name of '{}' contains a dot.", where, op);
    }
  }

  void check_site(int site, size_t candidates, const std::string& where) {
    check_row(site, "site", where);
    if (site < 0 && candidates > 1)
      fail("{}: there are {} candidates, but no site that weights them.", where, candidates);
    if (site < 0) return;
    if (cell_.type.empty()) fail("{}: a block without a cell type has no sites.", where);
    if (candidates_ > 0 && candidates_ != static_cast<int>(candidates)) {
      fail("{}: there are {} candidates where other sites have {}.", where, candidates, candidates_);
    }
    candidates_ = static_cast<int>(candidates);
  }

  void check_partial(int partial, const Shape& state, const std::string& where) const {
    if (partial >= 1 && partial <= state.channels && state.channels % partial == 0) return;
    fail("{}: 1/{} of {} channels cannot pass through the candidates.", where, partial, state.channels);
  }

  Shape check_edge(const EdgePlan& edge, const std::string& where) {
    if (edge.from < 0 || edge.from >= static_cast<int>(states_.size())) {
      fail("{}: an edge comes from state {}, but there are {} states before it (counted from 0).", where, edge.from,
           states_.size());
    }
    check_names(edge.ops, edge.candidates.size(), where);
    check_site(edge.site, edge.candidates.size(), where);
    check_row(edge.edge, "row of edge weights", where);
    const Shape& state = states_[edge.from];
    check_partial(edge.partial, state, where);
    if (edge.partial == 1 && !edge.bypass.empty()) fail("{}: nothing is left to pass an edge by.", where);
    const Shape mixed = candidate_input(state, edge.partial);
    const Shape result = check_candidates(edge.candidates, mixed, where);
    if (edge.partial == 1) return result;
    const Shape rest = through(edge.bypass, {state.channels - mixed.channels, state.height, state.width}, where);
    const Shape all{result.channels + rest.channels, result.height, result.width};
    if (rest.height != result.height || rest.width != result.width || all.channels != result.channels * edge.partial) {
      fail("{}: {} that pass an edge by cannot be joined with the {} of its candidates.", where, rest.text(),
           result.text());
    }
    return all;
  }

  Shape check_candidates(const std::vector<Stages>& candidates, const Shape& input, const std::string& where) const {
    const Shape first = through(candidates.front(), input, where);
    for (const Stages& candidate : candidates) {
      if (const Shape shape = through(candidate, input, where); shape != first) {
        fail("{}: one candidate gives {}, another {}.", where, first.text(), shape.text());
      }
    }
    return first;
  }

  void check_node(const NodePlan& node) {
    const std::string where = fmt::format("{}, node {}", where_, states_.size());
    if (node.edges.empty()) fail("{}: no edge leads to it.", where);
    Shape sum;
    for (const EdgePlan& edge : node.edges) {
      const Shape shape = check_edge(edge, where);
      if (&edge == &node.edges.front()) sum = shape;
      if (shape != sum) fail("{}: it adds {} to {}.", where, shape.text(), sum.text());
    }
    if (node.candidates.empty()) {
      if (!node.ops.empty() || node.site >= 0 || node.partial != 1) fail("{}: its operation has no stages.", where);
      states_.push_back(sum);
      return;
    }
    check_names(node.ops, node.candidates.size(), where);
    check_site(node.site, node.candidates.size(), where);
    check_partial(node.partial, sum, where);
    const Shape input = candidate_input(sum, node.partial);
    const Shape result = check_candidates(node.candidates, input, where);
    if (node.partial > 1 && result != input) {
      fail("{}: where some channels pass an operation by, it must keep the shape {}, not make {} of it.", where,
           input.text(), result.text());
    }
    states_.push_back(node.partial > 1 ? sum : result);
  }

  void check_output() const {
    if (cell_.output.empty()) fail("{}: it has no output.", where_);
    Shape joined;
    for (const int state : cell_.output) {
      if (state < 0 || state >= static_cast<int>(states_.size())) {
        fail("{}: its output joins state {}, but there are {} (counted from 0).", where_, state, states_.size());
      }
      const Shape& shape = states_[state];
      if (joined.channels > 0 && (shape.height != joined.height || shape.width != joined.width)) {
        fail("{}: its output joins {} and {}.", where_, joined.text(), shape.text());
      }
      joined = {joined.channels + shape.channels, shape.height, shape.width};
      check_shape(joined, where_);
    }
    check_same(cell_.output_shape, joined, where_);
    check_output_rows(joined);
    if (cell_.shortcut) check_same(through(*cell_.shortcut, states_[0], where_), joined, where_ + ", shortcut");
    if (!cell_.shortcut && cell_.shortcut_edge >= 0) fail("{}: a shortcut is weighted, but there is none.", where_);
    check_row(cell_.shortcut_edge, "row of edge weights", where_);
  }

  void check_output_rows(const Shape& joined) const {
    if (cell_.output_edges.empty()) return;
    const size_t count = cell_.output_edges.size();
    if (count != cell_.output.size() || joined.channels % count != 0) {
      fail("{}: there are {} weights for {} states of its output.", where_, count, cell_.output.size());
    }
    for (const int row : cell_.output_edges) {
      check_row(row, "row of edge weights", where_);
      if (row < 0) fail("{}: either all states of an output are weighted, or none.", where_);
    }
  }

  const CellPlan& cell_;
  std::string where_;
  std::vector<Shape> states_;
  int candidates_ = 0;
};

void check_head(const Stages& stages, const Shape& input, int classes, const std::string& where) {
  const Shape logits = through(stages, input, where);
  if (logits == Shape{classes, 1, 1}) return;
  fail("{}: it gives {}, not a number for each of {} classes.", where, logits.text(), classes);
}

}  // namespace

void check_plan(const NetworkPlan& plan) {
  check_shape(plan.input, "The network's input");
  if (plan.classes < 1 || plan.classes > 1 << 20) fail("A network cannot have {} classes.", plan.classes);
  if (plan.stems.empty()) fail("The network has no stem.");
  if (plan.cells.empty()) fail("The network has no cells.");
  std::vector<Shape> last_two(2, plan.input);
  for (const Stages& stem : plan.stems) last_two = {last_two[1], through(stem, last_two[1], "The network's stem")};
  if (plan.stems.size() == 1) last_two[0] = last_two[1];
  for (size_t i = 0; i < plan.cells.size(); ++i) {
    CellCheck(plan.cells[i], fmt::format("Cell {}", i)).run(last_two);
    last_two = {last_two[1], plan.cells[i].output_shape};
  }
  check_head(plan.head, last_two[1], plan.classes, "The network's head");
  if (plan.auxiliary.empty()) {
    if (plan.auxiliary_cell >= 0)
      fail("The network reads cell {} for an auxiliary head, but has none.", plan.auxiliary_cell);
    return;
  }
  if (plan.auxiliary_cell < 0 || plan.auxiliary_cell >= static_cast<int>(plan.cells.size())) {
    fail("The auxiliary head reads cell {}, but there are {} (counted from 0).", plan.auxiliary_cell,
         plan.cells.size());
  }
  check_head(plan.auxiliary, plan.cells[plan.auxiliary_cell].output_shape, plan.classes, "The auxiliary head");
}

}  // namespace nascent
