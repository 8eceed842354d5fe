#include "nascent/nn/lowered_cell.h"

#include <algorithm>

#include "nascent/nn/candidates.h"
#include "nascent/nn/engine.h"
#include "nascent/nn/fused_form.h"
#include "nascent/nn/layer_rule.h"

namespace nascent {

using kernels::CellProgram;
using kernels::Mix;
using kernels::Read;
using kernels::Term;
using kernels::Unit;
using kernels::ValueShape;

LoweringKey lowering_key(const CellMixture* mixture, bool masked) {
  LoweringKey key{.masked = masked, .precision = precision()};
  if (!mixture) return key;
  key.active = mixture->active;
  key.weighted_edges = mixture->edges.defined();
  return key;
}

namespace {

using Role = FusedForm::Role;

const FusedForm& form_of(const Stage& stage) { return layer_rule(stage.kind).facts.fused; }

bool is_pointwise(const Stage& stage) {
  return stage.kind == StageKind::conv && stage.groups == 1 && stage.kernel_h == 1 && stage.kernel_w == 1 &&
         stage.stride_h == 1 && stage.stride_w == 1 && stage.padding_h == 0 && stage.padding_w == 0 && !stage.bias;
}

bool is_last_unit(const Stages& stages, size_t at) {
  return std::all_of(stages.begin() + static_cast<ptrdiff_t>(at) + 1, stages.end(), [](const Stage& stage) {
    const Role role = form_of(stage).role;
    return role == Role::norm || role == Role::rectifier;
  });
}

bool same_window(const kernels::Window& a, const kernels::Window& b) {
  return a.height == b.height && a.width == b.width && a.stride_h == b.stride_h && a.stride_w == b.stride_w &&
         a.padding_h == b.padding_h && a.padding_w == b.padding_w;
}

// The operations of an edge, or of a node on its sum.
struct Operations {
  const std::vector<Stages>& candidates;
  int site, edge, partial;
  const Stages& bypass;
};

class Lowering {
 public:
  Lowering(const CellPlan& plan, const LoweringKey& key) : plan_(plan), key_(key) {
    cell_.program = std::make_shared<CellProgram>();
    cell_.program->precision = key.precision;
  }

  LoweredCell run();

 private:
  CellProgram& program() { return *cell_.program; }
  ValueShape& shape(int value) { return program().values[value]; }
  Read whole(int value) { return {.value = value, .channels = shape(value).channels}; }
  Read made_by(Unit unit);

  int parameter(const Stages& stages, size_t at, bool bias = false);
  int new_value(const Shape& shape) { return program().add_value({shape.channels, shape.height, shape.width}); }
  int new_value(const Read& input, const Stage& stage);
  Read through(const Stages& stages, int sequence, const Read& read);
  Read plain(const Stages& stages, const Read& read);
  Read fused(const Stages& stages, Read read);
  Read convolution(const Stages& stages, size_t& at, const Read& read);
  Read pool(const Stages& stages, size_t at, const Read& read);
  Read norm(const Stages& stages, size_t at, Read read);
  int new_state(const Read& read);
  int state_of(const Read& read);
  int output_of(int state);
  int weight_row(const Operations& operations, int candidate, int mask);
  void add_terms(Mix& mix, const Operations& operations, int from, int edge_index);
  int node_state(const NodePlan& node, const Shape& sum, const Shape& result);

  const CellPlan& plan_;
  const LoweringKey& key_;
  LoweredCell cell_;
  int sequence_ = 0;       // of the stages that are being lowered
  int next_sequence_ = 0;  // of the list that comes next in the plan
  int next_edge_ = 0;
  std::vector<int> states_;
  std::vector<int> shared_pools_;  // units
};

Read Lowering::made_by(Unit unit) {
  const int output = unit.output;
  program().add(std::move(unit));
  return whole(output);
}

int Lowering::parameter(const Stages& stages, size_t at, bool bias) {
  const Stage& stage = stages[at];
  int64_t count = 1;
  if (bias) {
    count = stage.out;
  } else {
    for (const int64_t size : layer_rule(stage.kind).facts.weight(stage)) count *= size;
  }
  cell_.parameters.push_back({{sequence_, static_cast<int>(at)}, bias});
  program().parameters.push_back(count);
  return static_cast<int>(cell_.parameters.size()) - 1;
}

int Lowering::new_value(const Read& input, const Stage& stage) {
  const ValueShape& from = shape(input.value);
  return new_value(stage.output({input.channels, from.height, from.width}));
}

// A depthwise convolution and the pointwise one behind it are one unit.
Read Lowering::convolution(const Stages& stages, size_t& at, const Read& read) {
  const Stage& stage = stages[at];
  Unit unit = form_of(stage).unit(stage);
  unit.input = read;
  unit.output = new_value(read, stage);
  (unit.depthwise.empty() ? unit.dense_weight : unit.depthwise_weight) = parameter(stages, at);
  if (!unit.depthwise.empty() && at + 1 < stages.size() && is_pointwise(stages[at + 1])) {
    ++at;
    shape(unit.output).channels = stages[at].out;
    unit.dense = {{}};
    unit.dense_weight = parameter(stages, at);
  }
  return made_by(std::move(unit));
}

// Pools of one value are computed once, however many edges want them, unless another unit reads the result.
Read Lowering::pool(const Stages& stages, size_t at, const Read& read) {
  Unit unit = form_of(stages[at]).unit(stages[at]);
  unit.input = read;
  if (is_last_unit(stages, at)) {
    for (const int index : shared_pools_) {
      const Unit& other = program().units[index];
      if (other.kind == unit.kind && other.input == unit.input && same_window(other.window, unit.window))
        return whole(other.output);
    }
    shared_pools_.push_back(static_cast<int>(program().units.size()));
  }
  unit.output = new_value(read, stages[at]);
  return made_by(std::move(unit));
}

Read Lowering::norm(const Stages& stages, size_t at, Read read) {
  kernels::Norm norm{.value = read.value};
  if (stages[at].affine) {
    norm.weight = parameter(stages, at);
    norm.bias = parameter(stages, at, /*bias=*/true);
  }
  read.norm = static_cast<int>(program().norms.size());
  program().norms.push_back(norm);
  cell_.norms.push_back({sequence_, static_cast<int>(at)});
  return read;
}

Read Lowering::through(const Stages& stages, int sequence, const Read& read) {
  sequence_ = sequence;
  return has_fused_form(stages) ? fused(stages, read) : plain(stages, read);
}

Read Lowering::plain(const Stages& stages, const Read& read) {
  Unit unit{.kind = Unit::Kind::plain, .input = read, .plain = static_cast<int>(cell_.plain.size())};
  const ValueShape& from = shape(read.value);
  unit.output = new_value(output_shape(stages, {read.channels, from.height, from.width}));
  for (size_t at = 0; at < stages.size(); ++at) {
    const LayerFacts& facts = layer_rule(stages[at].kind).facts;
    if (facts.weight && !facts.weight(stages[at]).empty()) unit.parameters.push_back(parameter(stages, at));
    if (facts.bias && facts.bias(stages[at])) unit.parameters.push_back(parameter(stages, at, /*bias=*/true));
  }
  cell_.plain.push_back(sequence_);
  return made_by(std::move(unit));
}

Read Lowering::fused(const Stages& stages, Read read) {
  for (size_t at = 0; at < stages.size(); ++at) {
    switch (form_of(stages[at]).role) {
      case Role::rectifier:
        read.relu = true;
        break;
      case Role::norm:
        read = norm(stages, at, read);
        break;
      case Role::selection:
        read.channels = stages[at].out;
        break;
      case Role::convolution:
        read = convolution(stages, at, read);
        break;
      case Role::pool:
        read = pool(stages, at, read);
        break;
      case Role::none:  // has_fused_form() said no
        break;
    }
  }
  return read;
}

int Lowering::new_state(const Read& read) {
  ValueShape state = shape(read.value);
  state.channels = read.channels;
  Mix mix{.output = program().add_value(state), .terms = {{.read = read}}};
  const int output = mix.output;
  program().add(std::move(mix));
  return output;
}

// States are inputs or made by mixtures, so that anybody may read them, and only some of their channels.
int Lowering::state_of(const Read& read) {
  const bool is_input = read.value < program().inputs && read == whole(read.value);
  return is_input ? read.value : new_state(read);
}

// Outputs are made by mixtures.
int Lowering::output_of(int state) { return state < program().inputs ? new_state(whole(state)) : state; }

// -1 where nothing weights the term.
int Lowering::weight_row(const Operations& operations, int candidate, int mask) {
  WeightRow row{.mask = mask};
  if (operations.site >= 0 && candidate >= 0) {
    row.site = operations.site;
    row.candidate = candidate;
  }
  if (operations.edge >= 0 && key_.weighted_edges) row.edge = operations.edge;
  if (row.site < 0 && row.edge < 0 && row.mask < 0) return -1;
  cell_.rows.push_back(row);
  return static_cast<int>(cell_.rows.size()) - 1;
}

void Lowering::add_terms(Mix& mix, const Operations& operations, int from, int edge_index) {
  const int first = next_sequence_, count = static_cast<int>(operations.candidates.size());
  next_sequence_ += count + (operations.partial > 1 ? 1 : 0);
  if (is_idle(operations.site, key_.active)) return;
  const Read all = whole(from);
  Read mixed = all;
  mixed.channels = all.channels / operations.partial;
  for (const int index : running_candidates(operations.candidates, operations.site, key_.active)) {
    const Stages& candidate = operations.candidates[index];
    const Read read = through(candidate, first + index, mixed);
    const bool drops = key_.masked && edge_index >= 0 && can_drop(operations.candidates) && !candidate.empty();
    mix.terms.push_back({.read = read, .weight = weight_row(operations, index, drops ? edge_index : -1)});
  }
  if (operations.partial == 1) return;
  mix.partial = operations.partial;
  Read rest = all;
  rest.first = mixed.channels;
  rest.channels = all.channels - mixed.channels;
  mix.bypass.push_back(
      {.read = through(operations.bypass, first + count, rest), .weight = weight_row(operations, -1, -1)});
}

int Lowering::node_state(const NodePlan& node, const Shape& sum, const Shape& result) {
  Mix mix{.output = new_value(sum)};
  for (const EdgePlan& edge : node.edges) {
    add_terms(mix, {edge.candidates, edge.site, edge.edge, edge.partial, edge.bypass}, states_[edge.from],
              next_edge_++);
  }
  const int state = mix.output;
  program().add(std::move(mix));
  if (node.candidates.empty()) return state;
  static const Stages kUnchanged;
  Mix mixed{.output = new_value(result)};
  add_terms(mixed, {node.candidates, node.site, -1, node.partial, kUnchanged}, state, -1);
  const int output = mixed.output;
  program().add(std::move(mixed));
  return output;
}

LoweredCell Lowering::run() {
  for (const Shape& input : plan_.input_shapes) new_value(input);
  program().inputs = static_cast<int>(plan_.input_shapes.size());
  for (size_t i = 0; i < plan_.preprocess.size(); ++i)
    states_.push_back(state_of(through(plan_.preprocess[i], next_sequence_++, whole(static_cast<int>(i)))));
  const std::vector<Shape> shapes = state_shapes(plan_);
  for (const NodePlan& node : plan_.nodes) {
    const Shape& shape = shapes[states_.size()];
    states_.push_back(node_state(node, sum_shape(node, shapes, shape), shape));
  }
  for (const int output : plan_.output) program().outputs.push_back(output_of(states_[output]));
  if (plan_.shortcut)
    program().outputs.push_back(output_of(state_of(through(*plan_.shortcut, next_sequence_++, whole(states_[0])))));
  return std::move(cell_);
}

}  // namespace

LoweredCell lower(const CellPlan& cell, const LoweringKey& key) { return Lowering(cell, key).run(); }

const Stages& stages_at(const CellPlan& cell, int sequence) {
  static const Stages kUnchanged;
  std::vector<const Stages*> all;
  for (const Stages& stages : cell.preprocess) all.push_back(&stages);
  for (const NodePlan& node : cell.nodes) {
    for (const EdgePlan& edge : node.edges) {
      for (const Stages& stages : edge.candidates) all.push_back(&stages);
      if (edge.partial > 1) all.push_back(&edge.bypass);
    }
    for (const Stages& stages : node.candidates) all.push_back(&stages);
    if (!node.candidates.empty() && node.partial > 1) all.push_back(&kUnchanged);
  }
  if (cell.shortcut) all.push_back(&*cell.shortcut);
  return *all.at(sequence);
}

}  // namespace nascent
