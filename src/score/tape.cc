#include "nascent/score/tape.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cassert>

#include "nascent/core/error.h"
#include "nascent/score/tape_rule.h"

namespace nascent {

namespace {

const Stages& only(const std::vector<Stages>& candidates, const NetworkPlan& plan) {
  if (candidates.size() != 1) {
    fail("A supernet of space '{}' cannot be scored as a network; give a genotype.", plan.space);
  }
  return candidates[0];
}

}  // namespace

int TapeBuilder::push(Step step, const Shape& shape) {
  step.out = tape_.values();
  tape_.shapes_.push_back(shape);
  tape_.steps_.push_back(std::move(step));
  tape_.copies_.push_back(1);
  return tape_.steps_.back().out;
}

int TapeBuilder::shared(StepKind kind, const TapeStage& at) {
  for (size_t i = 0; i < tape_.steps_.size(); ++i) {
    const Step& step = tape_.steps_[i];
    if (step.kind != kind || step.in[0] != at.x || !(step.stage == at.stage)) continue;
    ++tape_.copies_[i];
    return step.out;
  }
  return push({.kind = kind, .in = {at.x}, .stage = at.stage}, at.stage.output(at.shape));
}

int TapeBuilder::concatenated(std::vector<int> parts, std::vector<int> widths, const Shape& shape) {
  const bool zero = std::all_of(parts.begin(), parts.end(), [](int part) { return part == Tape::kZero; });
  if (parts.size() == 1 || zero) return parts[0];
  return push({.kind = StepKind::concat, .in = std::move(parts), .widths = std::move(widths)}, shape);
}

// Walks the plan once. A value is its number, or kZero where it is zero whatever the images.
class TapeWalk : public TapeBuilder {
 public:
  TapeWalk(Tape& tape, const Network& network, const Candidates* left = nullptr)
      : TapeBuilder(tape), plan_(network.plan()), left_(left) {
    tape_.evaluates_ = !network.is_training();
    // Layers are registered in the order of the plan.
    for (const auto& item : network.named_modules("", /*include_self=*/false)) {
      if (const auto* layer = item.value()->as<Layer>()) {
        layers_.push_back(layer);
        tape_.layers_.push_back(item.key());
        tape_.rows_.push_back(layer->stage().out);
      }
    }
  }

  void build() {
    tape_.shapes_.push_back(plan_.input);
    int last = Tape::kImage, before_last = last;
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
  static constexpr int kZero = Tape::kZero;

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
    const auto& rule = tape_rule(stage.kind);
    if (x == kZero && rule.facts.keeps_zeros && rule.facts.keeps_zeros(layer, tape_.evaluates_)) {
      if (stage.kind == StageKind::relu) tape_.idle_units_ += shape.count();
      return kZero;
    }
    if (x == kZero) {
      x = push({.kind = StepKind::zeros, .in = {Tape::kImage}, .widths = {shape.channels, shape.height, shape.width}},
               shape);
    }
    return rule.make(*this, TapeStage{stage, layer, static_cast<int>(next_layer_) - 1, x, shape});
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
    int result = output_of(cell, states, shapes);
    if (cell.shortcut) result = sum({result, apply(*cell.shortcut, states[0], shapes[0])}, cell.output_shape);
    return result;
  }

  int output_of(const CellPlan& cell, const std::vector<int>& states, const std::vector<Shape>& shapes) {
    std::vector<int> parts, widths;
    for (const int state : cell.output) {
      parts.push_back(states[state]);
      widths.push_back(shapes[state].channels);
    }
    return concatenated(std::move(parts), std::move(widths), cell.output_shape);
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
      if (has_weight || step.kind == StepKind::batch_norm || step.kind == StepKind::max_pool ||
          step.kind == StepKind::function) {
        tape_.kept_[step.in[0]] = true;
      }
      if (has_weight || step.kind == StepKind::relu) tape_.kept_[step.out] = true;
    }
    for (const int value : {tape_.logits_, tape_.features_}) {
      if (value != kZero) tape_.kept_[value] = true;
    }
  }

  const NetworkPlan& plan_;
  const Candidates* left_;  // null: the network is discrete
  std::vector<const Layer*> layers_;
  size_t next_layer_ = 0;
};

Tape::Tape(const Network& network) { TapeWalk(*this, network).build(); }

Tape::Tape(const Network& supernet, const Candidates& left) { TapeWalk(*this, supernet, &left).build(); }

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
