// Exponentiated gradient on a product of simplices: the mirror-descent step of the entropy (GAEA, eq. 8).
#include <ATen/ATen.h>

#include "nascent/search/one_shot/update.h"

namespace nascent {
namespace {

class ExponentiatedGradient : public ArchitectureUpdate {
 public:
  explicit ExponentiatedGradient(const UpdateSetup& setup)
      : lr_(setup.options.optimizer.lr),
        clip_(setup.options.optimizer.clip),
        floor_(setup.options.floor),
        architecture_(simplex_of(setup)) {}

  void step(const std::vector<at::Tensor>& gradients, const SearchPlace&) override {
    std::vector<at::Tensor> clipped = gradients;
    clip_gradients(clipped, clip_);
    at::NoGradGuard no_grad;
    const auto tensors = architecture_.tensors();
    for (size_t i = 0; i < tensors.size(); ++i) {
      if (clipped[i].defined()) at::Tensor(tensors[i]).mul_((-lr_ * clipped[i]).clamp(-80, 80).exp());
    }
    architecture_.normalise();
    if (floor_ > 0) keep_to_floor();
  }

  // The parameters are all there is, and the relaxation saves them.
  void save(State&, const std::string&) const override {}
  void load(const State&, const std::string&) override {}

 private:
  // What is excluded is 0 from the start and stays so; edges have no floor in the authors' code either.
  void keep_to_floor() {
    for (at::Tensor weights : architecture_.tensors()) {
      if (weights.dim() == 2) weights.copy_(at::where(weights > 0, weights.clamp_min(floor_), weights));
    }
    architecture_.normalise();
  }

  double lr_, clip_, floor_;
  ArchitectureParameters& architecture_;
};

NASCENT_REGISTER(
    ArchitectureUpdate, "exponentiated-gradient", "multiplicative step on the simplex (GAEA)",
    [](const UpdateSetup& setup) { return std::make_unique<ExponentiatedGradient>(setup); },
    UpdateFacts{.reads = {"architecture.clip", "architecture.floor"}, .domain = Domain::simplex});

}  // namespace
}  // namespace nascent
