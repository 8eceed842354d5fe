#include "nascent/search/one_shot/objective.h"

#include <cmath>

namespace nascent {

void Objective::move_weights(std::vector<at::Tensor> gradients, double rate, SearchStepResult& result) {
  result.gradient_norm = clip_gradients(gradients, setup_.clip);
  // The loop stops here and names the batch; the weights stay as the last good step left them.
  if (!std::isfinite(result.gradient_norm) || !std::isfinite(result.train_loss)) return;
  setup_.weights.step(gradients, rate);
}

}  // namespace nascent
