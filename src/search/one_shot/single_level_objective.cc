// Single level ("ERM"): weights and architecture minimise one loss on the same data (GAEA, eq. 3): both from one
// backward pass; or one block of parameters a step, in turn or drawn by lot (GAEA, Algorithm 1); or both blocks a step,
// each on a batch of its own, as the authors' code does.
#include "nascent/core/random.h"
#include "nascent/search/one_shot/objective.h"

namespace nascent {
namespace {

constexpr const char* kTwoBatches = "two-batches";

class SingleLevelObjective : public Objective {
 public:
  using Objective::Objective;

  SearchStepResult step(const SearchStep& step) override {
    if (setup_.blocks == kTwoBatches && !step.architecture_frozen) return two_batches(step);
    const auto [weights, architecture] = blocks(step);
    Tensors inputs = weights ? setup_.problem.weights() : Tensors();
    const auto split = static_cast<ptrdiff_t>(inputs.size());
    if (architecture) {
      for (const auto& tensor : setup_.problem.architecture()) inputs.push_back(tensor);
    }
    const auto [all, loss, top1] = setup_.problem.gradients(step.train, step.place, inputs, /*regularised=*/true);
    SearchStepResult result{.train_loss = loss, .train_top1 = top1};
    if (weights) move_weights({all.begin(), all.begin() + split}, step.weights_lr, result);
    if (architecture) setup_.update.step({all.begin() + split, all.end()}, step.place);
    return result;
  }

 private:
  SearchStepResult two_batches(const SearchStep& step) {
    SearchPlace place = step.place;
    place.pass = SearchPlace::Pass::architecture;
    setup_.update.step(
        setup_.problem.gradients(step.valid, place, setup_.problem.architecture(), /*regularised=*/true).tensors,
        place);
    auto [gradients, loss, top1] = setup_.problem.gradients(step.train, step.place, setup_.problem.weights());
    SearchStepResult result{.train_loss = loss, .train_top1 = top1};
    move_weights(std::move(gradients), step.weights_lr, result);
    return result;
  }

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

NASCENT_REGISTER(
    Objective, "single-level", "one loss on the training data for weights and architecture",
    [](const ObjectiveSetup& setup) { return std::make_unique<SingleLevelObjective>(setup); },
    ObjectiveFacts{.reads = {"search.blocks"}});

}  // namespace
}  // namespace nascent
