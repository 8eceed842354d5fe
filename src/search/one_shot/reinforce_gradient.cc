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
    at::Tensor objective = problem_.penalty(step.place);
    const int samples = options_.policy_samples;
    for (int draw = 0; draw < samples; ++draw) {
      SearchPlace place = step.place;
      place.draw = draw;
      const double reward = judge(step, place, result);
      baseline_ = started_ ? options_.baseline_decay * baseline_ + (1 - options_.baseline_decay) * reward : reward;
      started_ = true;
      const auto policy = problem_.relaxation().policy(place);
      objective =
          objective + (-(reward - baseline_) * policy.log_probability - options_.entropy_bonus * policy.entropy) /
                          static_cast<double>(samples);
    }
    result.loss /= samples;
    result.top1 /= samples;
    result.gradients = gradients(objective, problem_.architecture());
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
  // The accuracy of the architecture that is sampled at `place`; adds to the sums of the result.
  double judge(const ArchitectureStep& step, const SearchPlace& place, ArchitectureGradientResult& result) {
    at::NoGradGuard no_grad;
    const auto loss = problem_.loss(step.valid, place);
    result.loss += loss.value.item<double>();
    result.top1 += loss.top1;
    return loss.top1 / 100;
  }

  OneShotLoss& problem_;
  GradientOptions options_;
  double baseline_ = 0;
  bool started_ = false;
};

NASCENT_REGISTER(
    ArchitectureGradient, "reinforce", "policy gradient of the sampled architecture's accuracy (ENAS)",
    [](const GradientSetup& setup) { return std::make_unique<ReinforceGradient>(setup); },
    GradientFacts{.reads = {"search.entropy-bonus", "search.baseline-decay", "search.policy-samples"},
                  .bilevel = true,
                  .policy = true});

}  // namespace
}  // namespace nascent
