// Bilevel: the architecture minimises the loss on held-out data, the weights the loss on training data, in turn.
#include "nascent/search/one_shot/objective.h"

namespace nascent {
namespace {

class BilevelObjective : public Objective {
 public:
  using Objective::Objective;

  SearchStepResult step(const SearchStep& step) override {
    SearchStepResult result;
    if (!step.architecture_frozen) architecture_step(step, result);
    weight_step(step, result);
    return result;
  }

 private:
  void architecture_step(const SearchStep& step, SearchStepResult& result) {
    SearchPlace place = step.place;
    place.pass = SearchPlace::Pass::architecture;
    const auto computed = setup_.gradient.compute({step.train, step.valid, place, step.weights_lr});
    setup_.update.step(computed.gradients, place);
    result.valid_loss = computed.loss;
    result.valid_top1 = computed.top1;
    result.second_ratio = computed.second_ratio;
  }

  void weight_step(const SearchStep& step, SearchStepResult& result) {
    auto [gradients, loss, top1] = setup_.problem.gradients(step.train, step.place, setup_.problem.weights());
    result.train_loss = loss;
    result.train_top1 = top1;
    move_weights(std::move(gradients), step.weights_lr, result);
  }
};

NASCENT_REGISTER(
    Objective, "bilevel", "architecture on held-out data, weights on training data, in turn",
    [](const ObjectiveSetup& setup) { return std::make_unique<BilevelObjective>(setup); },
    ObjectiveFacts{.holds_out = true});

}  // namespace
}  // namespace nascent
