// REINFORCE: the reward is the validation accuracy of the sampled architecture, the baseline a moving average of
// rewards (ENAS).
#include <ATen/ATen.h>

#include "nascent/search/one_shot/gradient.h"

namespace nascent {
namespace {

class ReinforceGradient : public ArchitectureGradient {
 public:
  explicit ReinforceGradient(const GradientSetup& setup) : problem_(setup.problem), options_(setup.options) {}

  ArchitectureGradientResult compute(const ArchitectureStep& step) override {
    ArchitectureGradientResult result;
    {
      at::NoGradGuard no_grad;
      const auto loss = problem_.loss(step.valid, step.place);
      result.loss = loss.value.item<double>();
      result.top1 = loss.top1;
    }
    const double reward = result.top1 / 100;
    baseline_ = started_ ? options_.baseline_decay * baseline_ + (1 - options_.baseline_decay) * reward : reward;
    started_ = true;
    const auto policy = problem_.relaxation().policy(step.place);
    const at::Tensor objective =
        -(reward - baseline_) * policy.log_probability - options_.entropy_bonus * policy.entropy;
    result.gradients = gradients(objective + problem_.penalty(step.place), problem_.architecture());
    return result;
  }

  void save(State& state, const std::string& prefix) const override {
    state.values[prefix + "baseline"] = baseline_;
    state.values[prefix + "started"] = started_;
  }
  void load(const State& state, const std::string& prefix) override {
    baseline_ = state.value(prefix + "baseline");
    started_ = state.value(prefix + "started");
  }

 private:
  OneShotLoss& problem_;
  GradientOptions options_;
  double baseline_ = 0;
  bool started_ = false;
};

NASCENT_REGISTER(ArchitectureGradient, "reinforce", "policy gradient of the sampled architecture's accuracy (ENAS)",
                 [](const GradientSetup& setup) { return std::make_unique<ReinforceGradient>(setup); });

}  // namespace
}  // namespace nascent
