// Single level ("ERM"): weights and architecture minimise one loss on the same batch, from one backward pass (GAEA, eq.
// 3).
#include "search/objective.h"

namespace nascent {
namespace {

class SingleLevelObjective : public Objective {
 public:
  using Objective::Objective;
  bool holds_out_data() const override { return false; }

  SearchStepResult step(const SearchStep& step) override {
    const auto loss = setup_.problem.loss(step.train, step.place, /*regularised=*/true);
    std::vector<at::Tensor> inputs = setup_.problem.weights();
    const size_t weights = inputs.size();
    if (!step.architecture_frozen) {
      for (const auto& tensor : setup_.problem.architecture()) inputs.push_back(tensor);
    }
    const auto all = gradients(loss.value, inputs);
    std::vector<at::Tensor> of_weights(all.begin(), all.begin() + static_cast<ptrdiff_t>(weights));
    SearchStepResult result;
    result.gradient_norm = clip_gradients(of_weights, setup_.clip);
    setup_.weights.step(of_weights, step.weights_lr);
    if (!step.architecture_frozen)
      setup_.update.step({all.begin() + static_cast<ptrdiff_t>(weights), all.end()}, step.place);
    result.train_loss = loss.value.item<double>();
    result.train_top1 = loss.top1;
    return result;
  }
};

NASCENT_REGISTER(Objective, "single-level", "one loss on all training data for weights and architecture",
                 [](const ObjectiveSetup& setup) { return std::make_unique<SingleLevelObjective>(setup); });

}  // namespace
}  // namespace nascent
