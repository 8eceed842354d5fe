// Exponentiated gradient with wipe-out: a candidate that could not overtake the leader in the steps left is removed
// (XNAS).
#include <ATen/ATen.h>

#include <cmath>

#include "nascent/search/one_shot/update.h"

namespace nascent {
namespace {

class XnasUpdate : public ArchitectureUpdate {
 public:
  explicit XnasUpdate(const UpdateSetup& setup)
      : lr_(setup.options.optimizer.lr), bound_(setup.bound), architecture_(simplex_of(setup)) {}

  void step(const std::vector<at::Tensor>& gradients, const SearchPlace& place) override {
    at::NoGradGuard no_grad;
    const auto left = static_cast<double>(place.steps - place.step - 1);
    // No gradient exceeds the bound, so a ratio of weights changes by at most exp(2 lr bound) a step.
    const double reach = std::exp(-2 * lr_ * bound_ * left);
    const auto tensors = architecture_.tensors();
    for (size_t i = 0; i < tensors.size(); ++i) {
      at::Tensor weights = tensors[i];
      if (!gradients[i].defined()) continue;
      weights.mul_((-lr_ * gradients[i].clamp(-bound_, bound_)).exp());
      if (weights.dim() == 2) weights.mul_(weights.ge(weights.amax(-1, /*keepdim=*/true) * reach));
    }
    architecture_.normalise();
  }

  // What is wiped out is zero in the parameters, and the relaxation saves them.
  void save(State&, const std::string&) const override {}
  void load(const State&, const std::string&) override {}

 private:
  double lr_, bound_;
  ArchitectureParameters& architecture_;
};

NASCENT_REGISTER(
    ArchitectureUpdate, "xnas", "exponentiated gradient with wipe-out of candidates that cannot recover (XNAS)",
    [](const UpdateSetup& setup) { return std::make_unique<XnasUpdate>(setup); },
    UpdateFacts{.reads = {"search.bound"}, .domain = Domain::simplex});

}  // namespace
}  // namespace nascent
