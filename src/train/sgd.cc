#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/_foreach_mul.h>

#include "nascent/core/error.h"
#include "nascent/train/optimizer.h"

namespace nascent {
namespace {

// Stochastic gradient descent with (Nesterov) momentum, in the form that does not scale the momentum by the rate.
class Sgd : public Optimizer {
 public:
  Sgd(const OptimizerOptions& options, std::vector<at::Tensor> parameters)
      : Optimizer(std::move(parameters)), options_(options) {
    if (options.nesterov && options.momentum == 0) fail("nesterov needs momentum above 0; momentum is 0.");
    if (options.momentum != 0) momentum_ = zeros();
  }

  void step(const std::vector<at::Tensor>& gradients, double lr) override {
    const Selection chosen = select(gradients, options_.weight_decay);
    if (chosen.index.empty()) return;
    at::NoGradGuard no_grad;
    at::_foreach_add_(chosen.parameters, direction(chosen), -lr);
  }

  std::vector<at::Tensor> velocity() const override { return momentum_; }

  void save(State& state, const std::string& prefix) const override {
    save_moments(momentum_, state, prefix + "momentum.");
  }

  void load(const State& state, const std::string& prefix) override {
    load_moments(momentum_, state, prefix + "momentum.");
  }

 private:
  std::vector<at::Tensor> direction(const Selection& chosen) const {
    if (momentum_.empty()) return chosen.gradients;
    const std::vector<at::Tensor> momentum = chosen.pick(momentum_);
    at::_foreach_mul_(momentum, options_.momentum);
    at::_foreach_add_(momentum, chosen.gradients);
    return options_.nesterov ? at::_foreach_add(chosen.gradients, momentum, options_.momentum) : momentum;
  }

  OptimizerOptions options_;
  std::vector<at::Tensor> momentum_;  // empty where the momentum is 0
};

NASCENT_REGISTER(
    Optimizer, "sgd", "stochastic gradient descent with momentum",
    [](const OptimizerOptions& options, std::vector<at::Tensor> parameters) -> std::unique_ptr<Optimizer> {
      return std::make_unique<Sgd>(options, std::move(parameters));
    },
    OptimizerFacts{.reads = {"momentum", "nesterov"}});

}  // namespace
}  // namespace nascent
