#include "nascent/score/tape.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cassert>

#include "nascent/core/error.h"

namespace nascent {

namespace {

// The layers of a network in the order of its plan, which is the order in which they are registered.
std::vector<const Layer*> layers_of(const Network& network) {
  std::vector<const Layer*> layers;
  for (const auto& item : network.named_modules("", /*include_self=*/false)) {
    if (const auto* layer = item.value()->as<Layer>()) layers.push_back(layer);
  }
  return layers;
}

const Stages& only(const std::vector<Stages>& candidates, const NetworkPlan& plan) {
  if (candidates.size() != 1) {
    fail("A supernet of space '{}' cannot be scored as a network; give a genotype.", plan.space);
  }
  return candidates[0];
}

}  // namespace

// Walks the plan once. A value is its number, or kZero where it is zero whatever the images.
class Tape::Builder {
 public:
  Builder(Tape& tape, const Network& network, const Candidates* left = nullptr)
      : tape_(tape), plan_(network.plan()), left_(left), layers_(layers_of(network)) {}

  void build() {
    int last = value(plan_.input), before_last = last;
    Shape shape = plan_.input;
    for (const Stages& stem : plan_.stems) {
      before_last = last;
      last = apply(stem, last, shape);
      shape = output_shape(stem, shape);
    }
    if (plan_.stems.size() < 2) before_last = last;
    for (const CellPlan& cell : plan_.cells) {
      const int next =
          add_cell(cell, cell.preprocess.size() == 1 ? std::vector<int>{last} : std::vector<int>{before_last, last});
      before_last = last;
      last = next;
    }
    tape_.logits_ = apply(plan_.head, last, plan_.cells.back().output_shape);
    mark();
  }

 private:
  static constexpr int kZero = -1;

  int value(const Shape& shape) {
    tape_.shapes_.push_back(shape);
    return static_cast<int>(tape_.shapes_.size()) - 1;
  }

  int push(Step step, const Shape& shape) {
    step.out = value(shape);
    tape_.steps_.push_back(std::move(step));
    tape_.copies_.push_back(1);
    return tape_.steps_.back().out;
  }

  int apply(const Stages& stages, int x, Shape shape) {
    for (const Stage& stage : stages) {
      const Layer* layer = layers_.at(next_layer_++);
      assert(layer->stage() == stage);
      x = apply(stage, *layer, x, shape);
      shape = stage.output(shape);
    }
    return x;
  }

  int apply(const Stage& stage, const Layer& layer, int x, const Shape& shape) {
    if (stage.kind == StageKind::zero) return kZero;
    if (x == kZero) {
      if (stage.kind == StageKind::relu) tape_.idle_units_ += shape.count();
      return kZero;
    }
    switch (stage.kind) {
      case StageKind::conv:
        return push({StepKind::conv, {x}, -1, stage, layer.weight()}, stage.output(shape));
      case StageKind::batch_norm:
        return push({StepKind::batch_norm, {x}, -1, stage, {}, layer.bias(), layer.weight()}, shape);
      case StageKind::linear:
        return push({StepKind::linear, {x}, -1, stage, layer.weight(), layer.bias()}, stage.output(shape));
      case StageKind::factorized_reduce:
        return factorized_reduce(stage, layer, x, shape);
      case StageKind::global_avg_pool:
        tape_.features_ = x;
        return shared(StepKind::global_avg_pool, stage, x, shape);
      case StageKind::relu:
        return shared(StepKind::relu, stage, x, shape);
      case StageKind::max_pool:
        return shared(StepKind::max_pool, stage, x, shape);
      case StageKind::avg_pool:
        return shared(StepKind::avg_pool, stage, x, shape);
      default:
        return shared(StepKind::truncate, stage, x, shape);
    }
  }

  // A step without weights, once for every value that it is applied to.
  int shared(StepKind kind, const Stage& stage, int x, const Shape& shape) {
    for (size_t i = 0; i < tape_.steps_.size(); ++i) {
      const Step& step = tape_.steps_[i];
      if (step.kind != kind || step.in[0] != x || !(step.stage == stage)) continue;
      ++tape_.copies_[i];
      return step.out;
    }
    return push({kind, {x}, -1, stage}, stage.output(shape));
  }

  int factorized_reduce(const Stage& stage, const Layer& layer, int x, const Shape& shape) {
    const int half = stage.out / 2;
    const Shape whole = stage.output(shape);
    const int shifted = push({StepKind::shift, {x}}, {shape.channels, whole.height * 2 - 1, whole.width * 2 - 1});
    std::vector<int> parts, widths;
    for (const auto& [from, first, count] : {std::tuple{x, 0, half}, std::tuple{shifted, half, stage.out - half}}) {
      if (count == 0) continue;
      widths.push_back(count);
      const Stage conv = stage::conv(stage.in, count, 1, 2);
      parts.push_back(push({StepKind::conv, {from}, -1, conv, layer.weight().narrow(0, first, count)},
                           {count, whole.height, whole.width}));
    }
    return parts.size() == 1 ? parts[0] : push_concat(std::move(parts), std::move(widths), whole);
  }

  int sum(std::vector<int> terms, const Shape& shape) {
    std::erase(terms, kZero);
    if (terms.empty()) return kZero;
    return terms.size() == 1 ? terms[0] : push({StepKind::add, terms}, shape);
  }

  int scaled(int x, double factor, const Shape& shape) {
    if (x == kZero || factor == 1) return x;
    Step step{StepKind::scale, {x}};
    step.factor = factor;
    return push(std::move(step), shape);
  }

  int add_edge(const CellPlan& cell, const EdgePlan& edge, int x, const Shape& from) {
    if (!left_ || edge.site < 0) return apply(only(edge.candidates, plan_), x, from);
    const std::vector<int>& left = left_->at(cell.type).at(edge.site);
    std::vector<int> terms;
    for (size_t op = 0; op < edge.candidates.size(); ++op) {
      const Stages& stages = edge.candidates[op];
      if (std::find(left.begin(), left.end(), static_cast<int>(op)) != left.end()) {
        terms.push_back(apply(stages, x, from));
      } else {
        next_layer_ += stages.size();
      }
    }
    const Shape shape = output_shape(edge.candidates[0], from);
    return scaled(sum(std::move(terms), shape), 1 / static_cast<double>(left.size()), shape);
  }

  int add_cell(const CellPlan& cell, const std::vector<int>& inputs) {
    const std::vector<Shape> shapes = state_shapes(cell);
    std::vector<int> states;
    for (size_t i = 0; i < inputs.size(); ++i) {
      states.push_back(apply(cell.preprocess[i], inputs[i], cell.input_shapes[i]));
    }
    for (const NodePlan& node : cell.nodes) {
      std::vector<int> terms;
      Shape shape = shapes[states.size()];
      for (const EdgePlan& edge : node.edges) {
        shape = output_shape(edge.candidates[0], shapes[edge.from]);
        terms.push_back(add_edge(cell, edge, states[edge.from], shapes[edge.from]));
      }
      int state = sum(std::move(terms), shape);
      if (!node.candidates.empty()) state = apply(only(node.candidates, plan_), state, shape);
      states.push_back(state);
    }
    int result = concatenated(cell, states, shapes);
    if (cell.shortcut) result = sum({result, apply(*cell.shortcut, states[0], shapes[0])}, cell.output_shape);
    return result;
  }

  int concatenated(const CellPlan& cell, const std::vector<int>& states, const std::vector<Shape>& shapes) {
    std::vector<int> parts, widths;
    for (const int state : cell.output) {
      parts.push_back(states[state]);
      widths.push_back(shapes[state].channels);
    }
    const bool zero = std::all_of(parts.begin(), parts.end(), [](int part) { return part == kZero; });
    return parts.size() == 1 || zero ? parts[0] : push_concat(std::move(parts), std::move(widths), cell.output_shape);
  }

  int push_concat(std::vector<int> parts, std::vector<int> widths, const Shape& shape) {
    Step step{StepKind::concat, std::move(parts)};
    step.widths = std::move(widths);
    return push(std::move(step), shape);
  }

  void mark() {
    const auto values = static_cast<size_t>(tape_.values());
    tape_.kept_.assign(values, false);
    tape_.last_use_.assign(values, -1);
    std::vector<bool> live(values, false);
    if (tape_.is_connected()) live[tape_.logits_] = true;
    for (size_t i = tape_.steps_.size(); i-- > 0;) {
      Step& step = tape_.steps_[i];
      step.live = live[step.out];
      for (const int x : step.in) {
        if (x == kZero) continue;
        live[x] = live[x] || step.live;
        if (tape_.last_use_[x] < 0) tape_.last_use_[x] = static_cast<int>(i);
      }
    }
    for (const Step& step : tape_.steps_) {
      const bool has_weight = step.kind == StepKind::conv || step.kind == StepKind::linear;
      if (has_weight || step.kind == StepKind::batch_norm || step.kind == StepKind::max_pool) {
        tape_.kept_[step.in[0]] = true;
      }
      if (has_weight || step.kind == StepKind::relu) tape_.kept_[step.out] = true;
    }
    for (const int value : {tape_.logits_, tape_.features_}) {
      if (value != kZero) tape_.kept_[value] = true;
    }
  }

  Tape& tape_;
  const NetworkPlan& plan_;
  const Candidates* left_;  // null: the network is discrete
  std::vector<const Layer*> layers_;
  size_t next_layer_ = 0;
};

Tape::Tape(const Network& network) { Builder(*this, network).build(); }

Tape::Tape(const Network& supernet, const Candidates& left) { Builder(*this, supernet, &left).build(); }

Tape Tape::absolute() const {
  Tape tape = *this;
  for (Step& step : tape.steps_) {
    if (step.weight.defined()) step.weight = step.weight.detach().abs().to(at::kDouble);
    step.bias.reset();
    // A sum of one term is that term.
    if (step.kind == StepKind::batch_norm) step.kind = StepKind::add;
  }
  return tape;
}

}  // namespace nascent
