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
    const auto drawn = judge(step, result);
    for (const auto& [place, reward] : drawn) {
      baseline_ = started_ ? options_.baseline_decay * baseline_ + (1 - options_.baseline_decay) * reward : reward;
      started_ = true;
      const auto policy = problem_.relaxation().policy(place);
      objective =
          objective + (-(reward - baseline_) * policy.log_probability - options_.entropy_bonus * policy.entropy) /
                          static_cast<double>(drawn.size());
    }
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
  struct Drawn {
    SearchPlace place;
    double reward;
  };

  // The accuracies of the architectures that are compared: some for the whole batch, or for every shard.
  std::vector<Drawn> judge(const ArchitectureStep& step, ArchitectureGradientResult& result) {
    std::vector<Drawn> all;
    for (int draw = 0; draw < options_.policy_samples; ++draw) {
      SearchPlace place = step.place;
      place.draw = draw;
      judge(step, place, result, all);
    }
    result.loss /= options_.policy_samples;
    result.top1 /= options_.policy_samples;
    return all;
  }

  // Of what is drawn at `place`; adds to the sums of the result.
  void judge(const ArchitectureStep& step, const SearchPlace& place, ArchitectureGradientResult& result,
             std::vector<Drawn>& all) {
    at::NoGradGuard no_grad;
    const bool each = problem_.sharding().sample_per_shard;
    const int count = each ? problem_.sharding().shards : 1;
    const auto [rewards, loss, top1] = problem_.mean([&](const Shard& shard) -> OneShotLoss::Scored {
      const auto part = problem_.loss(step.valid, place, shard);
      at::Tensor reward = at::zeros({count}, at::kDouble);
      reward[each ? shard.index : 0] = count * (part.top1 / 100);
      return {{std::move(reward)}, part.value.item<double>(), part.top1};
    });
    result.loss += loss;
    result.top1 += top1;
    for (int i = 0; i < count; ++i) {
      all.push_back({problem_.place_of({.index = i}, place), rewards[0][i].item<double>()});
    }
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
