// Architecture gradients: how the derivative of the validation loss with respect to the architecture is computed when
// the shared weights depend on the architecture too. One axis of every bilevel method.
#pragma once

#include <concepts>
#include <memory>
#include <string>
#include <vector>

#include "nascent/core/registry.h"
#include "nascent/search/one_shot/one_shot_loss.h"
#include "nascent/train/optimizer.h"
#include "nascent/train/second_order.h"

namespace nascent {

struct GradientOptions {
  std::string gradient = "first-order";
  std::string second_derivatives = "exact";  // see train/second_order.h
  double amend = 0.1;                        // the amending coefficient
  double entropy_bonus = 1e-4;               // reinforce
  double baseline_decay = 0.99;              // reinforce
  int policy_samples = 1;                    // reinforce: architectures that a step compares
  double bound = 1;                          // clipped: largest gradient of one image; xnas counts on it
  void declare(OptionTable& table);
};

// A loss that is the mean of those of a batch's shards.
class MeanLoss {
 public:
  // What is linear in a loss.
  using Linear = std::function<Tensors(const LossFunction& shard)>;

  MeanLoss() = default;
  template <std::convertible_to<LossFunction> Loss>
  MeanLoss(Loss loss) : mean_([loss = LossFunction(std::move(loss))](const Linear& of) { return of(loss); }) {}
  explicit MeanLoss(std::function<Tensors(const Linear&)> mean) : mean_(std::move(mean)) {}

  // The mean over the shards of what `of` gives for each.
  Tensors mean(const Linear& of) const { return mean_(of); }

 private:
  std::function<Tensors(const Linear&)> mean_;
};

// The two losses of a bilevel problem as functions of the present values of weights and architecture.
struct BilevelLosses {
  MeanLoss train, valid;
  Tensors weights, architecture;
};

// How the weights would move: w - rate * (gradient + decay * w + momentum * velocity).
struct UnrolledStep {
  double rate = 0, momentum = 0, decay = 0;
  Tensors velocity{};  // empty: none yet
};

// A gradient in two terms: with the weights held fixed, and through them. Their sum is what moves the architecture.
struct TwoTerms {
  Tensors first, second;
  Tensors sum() const;
  double ratio() const;  // |second| / |first|; 0 where the first is 0
};

// DARTS, second order: the gradient at the weights after one step, and the correction for that step's dependence on the
// architecture.
TwoTerms unrolled_gradient(const BilevelLosses& losses, const UnrolledStep& step, Differentiation how);
// The amended second term, -coefficient * (mixed derivative) * H * (validation gradient) (amended-darts, eq. 6),
// without the first.
Tensors amended_term(const BilevelLosses& losses, double coefficient, Differentiation how);

struct GradientSetup {
  OneShotLoss& problem;
  const GradientOptions& options;
  const OptimizerOptions& weights;  // of the shared weights
  const Optimizer& optimizer;       // its momentum, for the unrolled step
};

struct ArchitectureStep {
  const TensorBatch& train;  // what the weights are fitted to
  const TensorBatch& valid;  // what the architecture is judged by
  SearchPlace place;
  double weights_lr = 0;  // of the weight step that follows
};

struct ArchitectureGradientResult {
  Tensors gradients;          // one per OneShotLoss::architecture(), undefined where there is none
  double loss = 0, top1 = 0;  // on the validation batch
  double second_ratio = -1;   // TwoTerms::ratio; -1: there is one term only
};

struct GradientFacts {
  std::vector<std::string> reads{};  // keys of options that only some gradients make use of (see method_check.h)
  bool bilevel = false;              // it needs data that the weights do not see
  bool policy = false;               // of a policy: nothing flows through the supernet
};

class ArchitectureGradient : public Stateful {
 public:
  static std::string kind() { return "architecture gradient"; }
  using Registry = nascent::Registry<ArchitectureGradient, std::unique_ptr<ArchitectureGradient>(const GradientSetup&),
                                     GradientFacts>;
  virtual ArchitectureGradientResult compute(const ArchitectureStep& step) = 0;
  void save(State&, const std::string&) const override {}
  void load(const State&, const std::string&) override {}
};

}  // namespace nascent
