// Training-free metrics among the search strategies: validating in the order of a metric, and evolution whose first
// population is the best of a sample by that metric (Abdelfattah et al., 2021).
#include <algorithm>

#include "nascent/search/black_box/metric_pool.h"
#include "nascent/search/strategy.h"

namespace nascent {
namespace {

MetricPool pool_of(const StrategySetting& setting) {
  return read_metric_pool(setting.options.metrics, setting.options.metric, *setting.space);
}

class ZeroCostStrategy : public Strategy {
 public:
  explicit ZeroCostStrategy(const StrategySetting& setting)
      : budget_(setting.budget), pool_(pool_of(setting)), order_(best_first(pool_, setting.options.metric)) {}

  std::optional<Proposal> propose() override {
    if (next_ == order_.size()) return std::nullopt;
    return Proposal{pool_.architecture(order_[next_++]), budget_};
  }
  void tell(const Proposal&, double) override {}

 private:
  Budget budget_;
  MetricPool pool_;
  std::vector<size_t> order_;
  size_t next_ = 0;
};

// The founders are the best of a random part of the pool, so that searches of different seeds differ.
class WarmUpStrategy : public Strategy {
 public:
  explicit WarmUpStrategy(const StrategySetting& setting)
      : founders_(find_founders(setting)), inner_(Strategy::Registry::instance().make("rea", setting)) {}

  bool ready() const override { return inner_->ready(); }
  std::optional<Proposal> propose() override {
    std::optional<Proposal> proposal = inner_->propose();
    if (next_ < founders_.size()) proposal->genotype = founders_[next_++];
    return proposal;
  }
  void tell(const Proposal& proposal, double accuracy) override { inner_->tell(proposal, accuracy); }

 private:
  static std::vector<Genotype> find_founders(const StrategySetting& setting) {
    constexpr int64_t kSample = 1000;
    const MetricPool pool = pool_of(setting);
    RandomStream random(setting.seed, "warm-up");
    MetricPool sample;
    const auto order = random.permutation(static_cast<int64_t>(pool.entries.size()));
    for (int64_t i = 0; i < std::min<int64_t>(kSample, static_cast<int64_t>(order.size())); ++i) {
      sample.entries.push_back(pool.entries[order[i]]);
    }
    std::vector<Genotype> founders;
    for (const size_t place : best_first(sample, setting.options.metric)) {
      if (static_cast<int>(founders.size()) == setting.options.population) break;
      founders.push_back(pool.architecture(static_cast<size_t>(order[place])));
    }
    return founders;
  }

  std::vector<Genotype> founders_;
  std::unique_ptr<Strategy> inner_;
  size_t next_ = 0;
};

NASCENT_REGISTER(
    Strategy, "zero-cost", "validates a pool in the order of a training-free metric",
    [](const StrategySetting& setting) { return std::make_unique<ZeroCostStrategy>(setting); },
    StrategyFacts{.pool = true, .recipe = "knas"});
NASCENT_REGISTER(
    Strategy, "rea-warm-up", "rea that starts from the best of 1000 of a pool by a training-free metric",
    [](const StrategySetting& setting) { return std::make_unique<WarmUpStrategy>(setting); },
    StrategyFacts{.pool = true, .recipe = "rea"});

}  // namespace
}  // namespace nascent
