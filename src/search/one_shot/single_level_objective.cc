// Single level ("ERM"): weights and architecture minimise one loss on the same data (GAEA, eq. 3): both from one
// backward pass, or one block of parameters a step, in turn or drawn by lot (GAEA, Algorithm 1).
#include "nascent/core/random.h"
#include "nascent/search/one_shot/objective.h"

namespace nascent {
namespace {

class SingleLevelObjective : public Objective {
 public:
  using Objective::Objective;
  bool holds_out_data() const override { return false; }

  SearchStepResult step(const SearchStep& step) override {
    const auto [weights, architecture] = blocks(step);
    const auto loss = setup_.problem.loss(step.train, step.place, /*regularised=*/true);
    SearchStepResult result{.train_loss = loss.value.item<double>(), .train_top1 = loss.top1};
    Tensors inputs = weights ? setup_.problem.weights() : Tensors();
    const auto split = static_cast<ptrdiff_t>(inputs.size());
    if (architecture) {
      for (const auto& tensor : setup_.problem.architecture()) inputs.push_back(tensor);
    }
    const auto all = gradients(loss.value, inputs);
    if (weights) move_weights({all.begin(), all.begin() + split}, step.weights_lr, result);
    if (architecture) setup_.update.step({all.begin() + split, all.end()}, step.place);
    return result;
  }

 private:
  struct Blocks {
    bool weights, architecture;
  };

  // While the architecture is frozen, every step belongs to the weights.
  Blocks blocks(const SearchStep& step) const {
    if (step.architecture_frozen) return {true, false};
    if (setup_.blocks == "both") return {true, true};
    const auto at = static_cast<uint64_t>(step.place.step);
    const bool weights =
        setup_.blocks == "cyclic" ? at % 2 == 0 : RandomStream(step.place.seed, "block", {at}).below(2) == 0;
    return {weights, !weights};
  }
};

NASCENT_REGISTER(Objective, "single-level", "one loss on all training data for weights and architecture",
                 [](const ObjectiveSetup& setup) { return std::make_unique<SingleLevelObjective>(setup); });

}  // namespace
}  // namespace nascent
