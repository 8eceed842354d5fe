#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/_foreach_addcdiv.h>
#include <ATen/ops/_foreach_addcmul.h>
#include <ATen/ops/_foreach_div.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/_foreach_sqrt.h>
#include <ATen/ops/tensor.h>

#include <cmath>

#include "nascent/train/optimizer.h"

namespace nascent {
namespace {

constexpr double kEpsilon = 1e-8;

// Adam with bias correction; weight decay is part of the gradient, as in the paper's reference experiments.
class Adam : public Optimizer {
 public:
  Adam(const OptimizerOptions& options, std::vector<at::Tensor> parameters)
      : Optimizer(std::move(parameters)),
        options_(options),
        mean_(zeros()),
        square_(zeros()),
        steps_(parameters_.size(), 0) {}

  void step(const std::vector<at::Tensor>& gradients, double lr) override {
    const Selection chosen = select(gradients, options_.weight_decay);
    if (chosen.index.empty()) return;
    at::NoGradGuard no_grad;
    const auto mean = chosen.pick(mean_), square = chosen.pick(square_);
    at::_foreach_mul_(mean, options_.beta1);
    at::_foreach_add_(mean, chosen.gradients, 1 - options_.beta1);
    at::_foreach_mul_(square, options_.beta2);
    at::_foreach_addcmul_(square, chosen.gradients, chosen.gradients, 1 - options_.beta2);

    std::vector<at::Scalar> rates, roots;  // a parameter's own: one without a gradient takes no step
    for (const size_t i : chosen.index) {
      const auto t = static_cast<double>(++steps_[i]);
      rates.emplace_back(-lr / (1 - std::pow(options_.beta1, t)));
      roots.emplace_back(std::sqrt(1 - std::pow(options_.beta2, t)));
    }
    auto deviation = at::_foreach_sqrt(square);
    at::_foreach_div_(deviation, roots);
    at::_foreach_add_(deviation, kEpsilon);
    at::_foreach_addcdiv_(chosen.parameters, mean, deviation, rates);
  }

  void save(State& state, const std::string& prefix) const override {
    save_moments(mean_, state, prefix + "mean.");
    save_moments(square_, state, prefix + "square.");
    state.put(prefix + "steps", at::tensor(steps_, at::kLong));
  }

  void load(const State& state, const std::string& prefix) override {
    load_moments(mean_, state, prefix + "mean.");
    load_moments(square_, state, prefix + "square.");
    at::Tensor steps = at::tensor(steps_, at::kLong);
    state.copy_into(prefix + "steps", steps);
    steps_.assign(steps.data_ptr<int64_t>(), steps.data_ptr<int64_t>() + steps.numel());
  }

 private:
  OptimizerOptions options_;
  std::vector<at::Tensor> mean_, square_;
  std::vector<int64_t> steps_;
};

NASCENT_REGISTER(
    Optimizer, "adam", "steps scaled by the running size of each gradient",
    [](const OptimizerOptions& options, std::vector<at::Tensor> parameters) -> std::unique_ptr<Optimizer> {
      return std::make_unique<Adam>(options, std::move(parameters));
    },
    OptimizerFacts{.reads = {"beta1", "beta2"}});

}  // namespace
}  // namespace nascent
