// Adam or SGD on the relaxation's parameters, which must be free to take any value.
#include "nascent/search/one_shot/update.h"

namespace nascent {

namespace {

class OptimizerUpdate : public ArchitectureUpdate {
 public:
  explicit OptimizerUpdate(const UpdateSetup& setup)
      : lr_(setup.options.optimizer.lr),
        clip_(setup.options.optimizer.clip),
        optimizer_(make_optimizer(setup.options.optimizer, setup.relaxation.parameters())) {
    if (auto* architecture = setup.relaxation.architecture();
        architecture != nullptr && architecture->domain() == Domain::simplex) {
      fail(
          "Adam and SGD would leave the simplex: use --update exponentiated-gradient, or logits (--relaxation "
          "softmax).");
    }
  }

  void step(const std::vector<at::Tensor>& gradients, const SearchPlace&) override {
    std::vector<at::Tensor> clipped = gradients;
    clip_gradients(clipped, clip_);
    optimizer_->step(clipped, lr_);
  }
  void save(State& state, const std::string& prefix) const override { optimizer_->save(state, prefix); }
  void load(const State& state, const std::string& prefix) override { optimizer_->load(state, prefix); }

 private:
  double lr_, clip_;
  std::unique_ptr<Optimizer> optimizer_;
};

NASCENT_REGISTER(
    ArchitectureUpdate, "optimizer", "a step of architecture.optimizer, Adam or SGD",
    [](const UpdateSetup& setup) { return std::make_unique<OptimizerUpdate>(setup); },
    UpdateFacts{.reads = {"architecture.optimizer", "architecture.weight-decay", "architecture.clip"},
                .optimizer = true});

}  // namespace
}  // namespace nascent
