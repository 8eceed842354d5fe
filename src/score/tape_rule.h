// How a kind of stage becomes steps of a tape: NASCENT_REGISTER(TapeRule, "conv", ...) beside the StageRule of the same
// name. What has no weights and treats images apart needs no more than tape_function().
#pragma once

#include <string>
#include <vector>

#include "nascent/core/registry.h"
#include "nascent/score/tape.h"

namespace nascent {

// A stage at its place in a network.
struct TapeStage {
  const Stage& stage;
  const Layer& layer;
  int index;  // of the layer in Tape::layers()
  int x;      // the value that it reads
  Shape shape;
};

// What an entry may do to the tape that is being made.
class TapeBuilder {
 public:
  explicit TapeBuilder(Tape& tape) : tape_(tape) {}

  // Appends a step and gives the value that it makes.
  int push(Step step, const Shape& shape);
  // A step without weights, once for every value that it is applied to.
  int shared(StepKind kind, const TapeStage& at);
  // Parts side by side; those that are Tape::kZero are zero.
  int concatenated(std::vector<int> parts, std::vector<int> widths, const Shape& shape);
  // What is pooled over all pixels are the features.
  void set_features(int value) { tape_.features_ = value; }

 protected:
  Tape& tape_;
};

struct TapeFacts {
  // Whether zeros come out where zeros go in; null: not known. Zeros are then not computed at all.
  bool (*keeps_zeros)(const Layer& layer, bool evaluates) = nullptr;
};

struct TapeRule {
  static std::string kind() { return "tape step"; }
  // Gives the value that the stage makes.
  using Registry = nascent::Registry<TapeRule, int(TapeBuilder& tape, const TapeStage& at), TapeFacts>;
};

// The rule of stages that have no weights and compute each image by itself: LibTorch computes and differentiates them.
int tape_function(TapeBuilder& tape, const TapeStage& at);

// An Error that says what to do where a kind of stage has none.
const TapeRule::Registry::Entry& tape_rule(StageKind kind);

}  // namespace nascent
