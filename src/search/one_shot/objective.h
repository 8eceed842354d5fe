// Objectives: which data each step sees and in what order weights and architecture move. One axis of every
// weight-sharing method.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "nascent/core/registry.h"
#include "nascent/search/one_shot/gradient.h"
#include "nascent/search/one_shot/one_shot_loss.h"
#include "nascent/search/one_shot/update.h"
#include "nascent/train/optimizer.h"

namespace nascent {

// What an objective works with; it owns none of it.
struct ObjectiveSetup {
  OneShotLoss& problem;
  ArchitectureGradient& gradient;
  ArchitectureUpdate& update;
  Optimizer& weights;
  double clip = 0;  // largest norm of the weights' gradient
  // Single level: which block of parameters a step moves, "both", or one of the two, "cyclic" or "random" (GAEA,
  // Algorithm 1), or both on batches of their own, "two-batches" (GAEA, as released).
  std::string blocks = "both";
};

struct SearchStep {
  TensorBatch train, valid;
  SearchPlace place;
  double weights_lr = 0;
  bool architecture_frozen = false;  // warm-up: only the weights move
};

struct SearchStepResult {
  double train_loss = 0, train_top1 = 0;
  double valid_loss = 0, valid_top1 = 0;
  double gradient_norm = 0;  // of the weights, before clipping; 0 where they rested
  double second_ratio = -1;  // of the architecture gradient's two terms; -1: it has one only
};

struct ObjectiveFacts {
  std::vector<std::string> reads{};  // keys of options that only some objectives make use of (see method_check.h)
  bool holds_out = false;            // the architecture is judged by data that the weights never see
};

class Objective {
 public:
  static std::string kind() { return "objective"; }
  using Registry = nascent::Registry<Objective, std::unique_ptr<Objective>(const ObjectiveSetup&), ObjectiveFacts>;

  explicit Objective(const ObjectiveSetup& setup) : setup_(setup) {}
  virtual ~Objective() = default;
  virtual SearchStepResult step(const SearchStep& step) = 0;

 protected:
  // Clips the gradients and moves the weights by them, unless something is not finite.
  void move_weights(std::vector<at::Tensor> gradients, double rate, SearchStepResult& result);

  ObjectiveSetup setup_;
};

}  // namespace nascent
