#include "nascent/nn/lowered_cell.h"

#include <algorithm>

#include "nascent/nn/cell.h"
#include "nascent/nn/fused_form.h"
#include "nascent/nn/plain_operation.h"

namespace nascent {

using kernels::CellProgram;
using kernels::Mix;
using kernels::Read;
using kernels::Term;
using kernels::Unit;
using kernels::ValueShape;

LoweringKey lowering_key(const CellMixture* mixture, bool masked) {
  LoweringKey key{.masked = masked};
  if (!mixture) return key;
  key.active = mixture->active;
  key.weighted_edges = mixture->edges.defined();
  return key;
}

namespace {

std::vector<kernels::TapAt> taps_of(const Stage& stage) {
  std::vector<kernels::TapAt> taps;
  for (int y = 0; y < stage.kernel_h; ++y) {
    for (int x = 0; x < stage.kernel_w; ++x)
      taps.push_back({y * stage.dilation - stage.padding_h, x * stage.dilation - stage.padding_w});
  }
  return taps;
}

Stages stages_of(const StageSequence& sequence) {
  Stages stages;
  for (const auto& layer : sequence.layers()) stages.push_back(layer->stage());
  return stages;
}

bool is_pointwise(const Stage& stage) {
  return stage.kind == StageKind::conv && stage.groups == 1 && stage.kernel_h == 1 && stage.kernel_w == 1 &&
         stage.stride_h == 1 && stage.stride_w == 1 && stage.padding_h == 0 && stage.padding_w == 0 && !stage.bias;
}

class Lowering {
 public:
  Lowering(const CellMixture* mixture, bool masked) : mixture_(mixture), masked_(masked) {
    cell_.program = std::make_shared<CellProgram>();
  }

  LoweredCell run(const Cell::Parts& parts, const std::vector<Shape>& input_shapes);

 private:
  CellProgram& program() { return *cell_.program; }
  ValueShape& shape(int value) { return program().values[value]; }
  Read whole(int value) { return {.value = value, .channels = shape(value).channels}; }

  int parameter(const at::Tensor& tensor);
  int new_value(const Read& input, const Stage& stage);
  Read through(const StageSequence& sequence, const Read& read);
  Read plain(const StageSequence& sequence, const Stages& stages, const Read& read);
  Read fused(const StageSequence& sequence, Read read);
  Read convolution(const std::vector<std::shared_ptr<Layer>>& layers, size_t& at, const Read& read);
  Read factorized_reduce(const Layer& layer, const Read& read);
  Read pool(const Layer& layer, const Read& read, bool is_last_unit);
  Read norm(const Layer& layer, Read read);
  int new_state(const Read& read);
  int state_of(const Read& read);
  int output_of(int state);
  int weight_row(const MixedOperation& operation, int candidate, int mask);
  void add_terms(Mix& mix, const MixedOperation& operation, int from, int edge_index);
  int node_sum(const Cell::Node& node, int& edge_index);

  const CellMixture* mixture_;
  bool masked_;
  LoweredCell cell_;
  std::vector<int> states_;
  std::vector<int> shared_pools_;  // units
};

int Lowering::parameter(const at::Tensor& tensor) {
  cell_.parameters.push_back(tensor);
  program().parameters.push_back(tensor.numel());
  return static_cast<int>(cell_.parameters.size()) - 1;
}

int Lowering::new_value(const Read& input, const Stage& stage) {
  const ValueShape& from = shape(input.value);
  const Shape to = stage.output({input.channels, from.height, from.width});
  return program().add_value({to.channels, to.height, to.width});
}

Read Lowering::convolution(const std::vector<std::shared_ptr<Layer>>& layers, size_t& at, const Read& read) {
  const Layer& layer = *layers[at];
  const Stage& stage = layer.stage();
  Unit unit{.input = read, .stride_h = stage.stride_h, .stride_w = stage.stride_w};
  unit.output = new_value(read, stage);
  if (is_depthwise(stage)) {
    unit.depthwise = taps_of(stage);
    unit.depthwise_weight = parameter(layer.weight());
    if (at + 1 < layers.size() && is_pointwise(layers[at + 1]->stage())) {
      const Layer& next = *layers[++at];
      shape(unit.output).channels = next.stage().out;
      unit.dense = {{}};
      unit.dense_weight = parameter(next.weight());
    }
  } else {
    unit.dense = taps_of(stage);
    unit.dense_weight = parameter(layer.weight());
  }
  const int output = unit.output;
  program().add(std::move(unit));
  return whole(output);
}

Read Lowering::factorized_reduce(const Layer& layer, const Read& read) {
  Unit unit{.input = read, .dense = {{0, 0}, {1, 1}}, .stride_h = 2, .stride_w = 2, .halves = true};
  unit.output = new_value(read, layer.stage());
  unit.dense_weight = parameter(layer.weight());
  const int output = unit.output;
  program().add(std::move(unit));
  return whole(output);
}

// Pools of one value are computed once, however many edges want them, unless another unit reads the result.
Read Lowering::pool(const Layer& layer, const Read& read, bool is_last_unit) {
  const Stage& stage = layer.stage();
  Unit unit{
      .kind = stage.kind == StageKind::max_pool ? Unit::Kind::max_pool : Unit::Kind::avg_pool,
      .input = read,
      .window = {stage.kernel_h, stage.kernel_w, stage.stride_h, stage.stride_w, stage.padding_h, stage.padding_w}};
  if (is_last_unit) {
    for (const int index : shared_pools_) {
      const Unit& other = program().units[index];
      const auto& a = other.window;
      const auto& b = unit.window;
      if (other.kind == unit.kind && other.input == unit.input && a.height == b.height && a.width == b.width &&
          a.stride_h == b.stride_h && a.stride_w == b.stride_w && a.padding_h == b.padding_h &&
          a.padding_w == b.padding_w)
        return whole(other.output);
    }
    shared_pools_.push_back(static_cast<int>(program().units.size()));
  }
  unit.output = new_value(read, stage);
  const int output = unit.output;
  program().add(std::move(unit));
  return whole(output);
}

Read Lowering::norm(const Layer& layer, Read read) {
  kernels::Norm norm{.value = read.value};
  if (layer.stage().affine) {
    norm.weight = parameter(layer.weight());
    norm.bias = parameter(layer.bias());
  }
  read.norm = static_cast<int>(program().norms.size());
  program().norms.push_back(norm);
  cell_.norms.push_back(&layer);
  return read;
}

Read Lowering::through(const StageSequence& sequence, const Read& read) {
  const Stages stages = stages_of(sequence);
  return has_fused_form(stages) ? fused(sequence, read) : plain(sequence, stages, read);
}

Read Lowering::plain(const StageSequence& sequence, const Stages& stages, const Read& read) {
  Unit unit{.kind = Unit::Kind::plain, .input = read, .plain = static_cast<int>(cell_.plain.size())};
  const ValueShape& from = shape(read.value);
  const Shape to = output_shape(stages, {read.channels, from.height, from.width});
  unit.output = program().add_value({to.channels, to.height, to.width});
  for (const at::Tensor& tensor : parameters_of(sequence)) unit.parameters.push_back(parameter(tensor));
  cell_.plain.push_back(&sequence);
  const int output = unit.output;
  program().add(std::move(unit));
  return whole(output);
}

Read Lowering::fused(const StageSequence& sequence, Read read) {
  const auto& layers = sequence.layers();
  const auto is_last_unit = [&](size_t at) {
    return std::all_of(layers.begin() + static_cast<ptrdiff_t>(at) + 1, layers.end(), [](const auto& layer) {
      return layer->stage().kind == StageKind::batch_norm || layer->stage().kind == StageKind::relu;
    });
  };
  for (size_t at = 0; at < layers.size(); ++at) {
    const Layer& layer = *layers[at];
    switch (layer.stage().kind) {
      case StageKind::relu:
        read.relu = true;
        break;
      case StageKind::conv:
        read = convolution(layers, at, read);
        break;
      case StageKind::batch_norm:
        read = norm(layer, read);
        break;
      case StageKind::max_pool:
      case StageKind::avg_pool:
        read = pool(layer, read, is_last_unit(at));
        break;
      case StageKind::factorized_reduce:
        read = factorized_reduce(layer, read);
        break;
      case StageKind::truncate:
        read.channels = layer.stage().out;
        break;
      default:  // has no fused form
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
int Lowering::weight_row(const MixedOperation& operation, int candidate, int mask) {
  WeightRow row{.mask = mask};
  if (operation.site() >= 0 && candidate >= 0) {
    row.site = operation.site();
    row.candidate = candidate;
  }
  if (operation.edge() >= 0 && mixture_ && mixture_->edges.defined()) row.edge = operation.edge();
  if (row.site < 0 && row.edge < 0 && row.mask < 0) return -1;
  cell_.rows.push_back(row);
  return static_cast<int>(cell_.rows.size()) - 1;
}

void Lowering::add_terms(Mix& mix, const MixedOperation& operation, int from, int edge_index) {
  if (operation.is_idle(mixture_)) return;
  const Read all = whole(from);
  Read mixed = all;
  mixed.channels = all.channels / operation.partial();
  for (const int index : operation.running(mixture_)) {
    const StageSequence& candidate = operation.candidate(index);
    const Read read = through(candidate, mixed);
    const int mask = masked_ && edge_index >= 0 && operation.can_drop() && !candidate.is_identity() ? edge_index : -1;
    mix.terms.push_back({.read = read, .weight = weight_row(operation, index, mask)});
  }
  if (operation.partial() == 1) return;
  mix.partial = operation.partial();
  Read rest = all;
  rest.first = mixed.channels;
  rest.channels = all.channels - mixed.channels;
  mix.bypass.push_back({.read = through(*operation.bypass(), rest), .weight = weight_row(operation, -1, -1)});
}

int Lowering::node_sum(const Cell::Node& node, int& edge_index) {
  Mix sum{.output = program().add_value({node.sum_shape.channels, node.sum_shape.height, node.sum_shape.width})};
  for (const Cell::Edge& edge : node.edges) add_terms(sum, *edge.operation, states_[edge.from], edge_index++);
  const int output = sum.output;
  program().add(std::move(sum));
  return output;
}

LoweredCell Lowering::run(const Cell::Parts& parts, const std::vector<Shape>& input_shapes) {
  for (const Shape& input : input_shapes) program().add_value({input.channels, input.height, input.width});
  program().inputs = static_cast<int>(input_shapes.size());
  for (size_t i = 0; i < parts.preprocess.size(); ++i)
    states_.push_back(state_of(through(*parts.preprocess[i], whole(static_cast<int>(i)))));
  int edge_index = 0;
  for (const Cell::Node& node : parts.nodes) {
    int state = node_sum(node, edge_index);
    if (node.operation) {
      Mix mix{.output = program().add_value({node.shape.channels, node.shape.height, node.shape.width})};
      add_terms(mix, *node.operation, state, -1);
      state = mix.output;
      program().add(std::move(mix));
    }
    states_.push_back(state);
  }
  for (const int output : parts.output) program().outputs.push_back(output_of(states_[output]));
  if (parts.shortcut) program().outputs.push_back(output_of(state_of(through(*parts.shortcut, whole(states_[0])))));
  return std::move(cell_);
}

}  // namespace

LoweredCell lower(const Cell& cell, const CellMixture* mixture, bool masked) {
  return Lowering(mixture, masked).run(cell.parts(), cell.input_shapes());
}

}  // namespace nascent
