// REINFORCE (Williams 1992) as NAS-Bench-201 applies it: a softmax for each choice, Adam on the policy gradient, and a
// moving average of the rewards as baseline.
#include <algorithm>
#include <cmath>
#include <deque>

#include "nascent/core/error.h"
#include "nascent/search/encoding.h"
#include "nascent/search/strategy.h"

namespace nascent {
namespace {

// Adam's ascent on one vector of logits.
class AdamAscent {
 public:
  AdamAscent(double rate, size_t size) : rate_(rate), mean_(size), square_(size) {}

  void step(std::vector<double>& logits, const std::vector<double>& gradient) {
    ++steps_;
    for (size_t i = 0; i < logits.size(); ++i) {
      mean_[i] = 0.9 * mean_[i] + 0.1 * gradient[i];
      square_[i] = 0.999 * square_[i] + 0.001 * gradient[i] * gradient[i];
      const double mean = mean_[i] / (1 - std::pow(0.9, steps_)), square = square_[i] / (1 - std::pow(0.999, steps_));
      logits[i] += rate_ * mean / (std::sqrt(square) + 1e-8);
    }
  }

 private:
  double rate_;
  std::vector<double> mean_, square_;
  int steps_ = 0;
};

class ReinforceStrategy : public Strategy {
 public:
  explicit ReinforceStrategy(const StrategySetting& setting)
      : setting_(setting), encoding_(setting.space), random_(setting.seed, "reinforce") {
    for (const int size : encoding_.sizes()) {
      logits_.emplace_back(size);
      for (double& logit : logits_.back()) logit = 1e-3 * random_.normal();
      ascents_.emplace_back(setting.options.reinforce_lr, size);
    }
  }

  std::optional<Proposal> propose() override {
    for (int tries = 0; tries < 100000; ++tries) {
      Choices drawn;
      for (const auto& logits : logits_) drawn.push_back(draw(softmax(logits)));
      auto genotype = encoding_.decode(drawn);
      if (!genotype) continue;
      out_.push_back(std::move(drawn));
      return Proposal{std::move(*genotype), setting_.budget};
    }
    fail("REINFORCE's policy for '{}' has settled on choices that are no architecture.", setting_.space->name());
  }

  void tell(const Proposal&, double accuracy) override {
    // The average holds this reward already when it is subtracted, and is freed of its start at zero.
    const double decay = setting_.options.baseline_decay;
    sum_ = decay * sum_ + (1 - decay) * accuracy;
    weight_ = decay * weight_ + (1 - decay);
    const double advantage = accuracy - sum_ / weight_;
    const Choices drawn = std::move(out_.front());
    out_.pop_front();
    for (size_t c = 0; c < logits_.size(); ++c) {
      std::vector<double> gradient = softmax(logits_[c]);
      for (double& g : gradient) g = -g;
      gradient[drawn[c]] += 1;
      for (double& g : gradient) g *= advantage;
      ascents_[c].step(logits_[c], gradient);
    }
  }

 private:
  static std::vector<double> softmax(std::vector<double> logits) {
    const double top = *std::max_element(logits.begin(), logits.end());
    double sum = 0;
    for (double& x : logits) sum += x = std::exp(x - top);
    for (double& x : logits) x /= sum;
    return logits;
  }

  int draw(const std::vector<double>& probabilities) {
    double rest = random_.uniform();
    for (size_t i = 0; i + 1 < probabilities.size(); ++i) {
      if ((rest -= probabilities[i]) < 0) return static_cast<int>(i);
    }
    return static_cast<int>(probabilities.size()) - 1;
  }

  StrategySetting setting_;
  Encoding encoding_;
  RandomStream random_;
  std::vector<std::vector<double>> logits_;
  std::vector<AdamAscent> ascents_;
  std::deque<Choices> out_;      // proposed, not told yet
  double sum_ = 0, weight_ = 0;  // of the rewards
};

NASCENT_REGISTER(
    Strategy, "reinforce", "policy gradient: a softmax for each choice, a moving baseline",
    [](const StrategySetting& setting) { return std::make_unique<ReinforceStrategy>(setting); },
    StrategyFacts{.recipe = "reinforce"});

}  // namespace
}  // namespace nascent
