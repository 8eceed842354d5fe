// The tape's form of the kinds of stage that operations and skeletons are made of.
#include <ATen/ATen.h>

#include "nascent/core/error.h"
#include "nascent/score/tape_rule.h"

namespace nascent {

const TapeRule::Registry::Entry& tape_rule(StageKind kind) {
  const std::string& name = name_of(kind);
  const auto& registry = TapeRule::Registry::instance();
  if (!registry.contains(name)) {
    fail("The stage '{}' has no tape step, so its networks cannot be scored: register a TapeRule of that name.", name);
  }
  return registry.at(name);
}

int tape_function(TapeBuilder& tape, const TapeStage& at) {
  if (!at.layer.is_stateless()) {
    fail("The stage '{}' has weights, so its TapeRule must say which steps it is made of.", name_of(at.stage.kind));
  }
  return tape.shared(StepKind::function, at);
}

namespace {

template <StepKind kKind>
int without_weights(TapeBuilder& tape, const TapeStage& at) {
  return tape.shared(kKind, at);
}

template <StepKind kKind>
int with_weights(TapeBuilder& tape, const TapeStage& at) {
  return tape.push({.kind = kKind,
                    .in = {at.x},
                    .stage = at.stage,
                    .weight = at.layer.weight(),
                    .bias = at.layer.bias(),
                    .layer = at.index},
                   at.stage.output(at.shape));
}

int batch_norm(TapeBuilder& tape, const TapeStage& at) {
  return tape.push({.kind = StepKind::batch_norm,
                    .in = {at.x},
                    .stage = at.stage,
                    .bias = at.layer.bias(),
                    .scale = at.layer.weight(),
                    .running_mean = at.layer.running_mean(),
                    .running_var = at.layer.running_var(),
                    .layer = at.index},
                   at.shape);
}

int factorized_reduce(TapeBuilder& tape, const TapeStage& at) {
  const int out = at.stage.out, half = out / 2;
  const Shape whole = at.stage.output(at.shape);
  const int shifted = tape.push({.kind = StepKind::shift, .in = {at.x}},
                                {at.shape.channels, whole.height * 2 - 1, whole.width * 2 - 1});
  std::vector<int> parts, widths;
  for (const auto& [from, first, count] : {std::tuple{at.x, 0, half}, std::tuple{shifted, half, out - half}}) {
    if (count == 0) continue;
    widths.push_back(count);
    parts.push_back(tape.push({.kind = StepKind::conv,
                               .in = {from},
                               .stage = stage::conv(at.stage.in, count, 1, 2),
                               .weight = at.layer.weight().narrow(0, first, count),
                               .layer = at.index,
                               .first_row = first},
                              {count, whole.height, whole.width}));
  }
  return tape.concatenated(std::move(parts), std::move(widths), whole);
}

bool always(const Layer&, bool) { return true; }
bool without_bias(const Layer& layer, bool) { return !layer.bias().defined(); }
// A shift that is zero, as every shift at the start of training, keeps them.
bool without_shift(const Layer& layer, bool evaluates) {
  return !evaluates && !(layer.bias().defined() && layer.bias().any().item<bool>());
}
// The logits of a network without a path are constant: only who evaluates wants to know them.
bool in_training(const Layer&, bool evaluates) { return !evaluates; }

}  // namespace

NASCENT_REGISTER(TapeRule, "relu", "shared", without_weights<StepKind::relu>, TapeFacts{always});
NASCENT_REGISTER(TapeRule, "conv", "a step", with_weights<StepKind::conv>, TapeFacts{without_bias});
NASCENT_REGISTER(TapeRule, "batch_norm", "a step", batch_norm, TapeFacts{without_shift});
NASCENT_REGISTER(TapeRule, "max_pool", "shared", without_weights<StepKind::max_pool>, TapeFacts{always});
NASCENT_REGISTER(TapeRule, "avg_pool", "shared", without_weights<StepKind::avg_pool>, TapeFacts{always});
NASCENT_REGISTER(TapeRule, "factorized_reduce", "two convolutions", factorized_reduce, TapeFacts{always});
NASCENT_REGISTER(
    TapeRule, "zero", "nothing", [](TapeBuilder&, const TapeStage&) { return Tape::kZero; }, TapeFacts{always});
NASCENT_REGISTER(TapeRule, "truncate", "shared", without_weights<StepKind::truncate>, TapeFacts{always});
NASCENT_REGISTER(
    TapeRule, "global_avg_pool", "shared",
    [](TapeBuilder& tape, const TapeStage& at) {
      tape.set_features(at.x);
      return tape.shared(StepKind::global_avg_pool, at);
    },
    TapeFacts{always});
NASCENT_REGISTER(TapeRule, "linear", "a step", with_weights<StepKind::linear>, TapeFacts{in_training});

}  // namespace nascent
