// HNAS among the search strategies: its pool comes from a file of training-free metrics.
#include "nascent/core/log.h"
#include "nascent/score/agreement.h"
#include "nascent/search/black_box/metric_pool.h"
#include "nascent/search/strategy.h"

namespace nascent {
namespace {

class HnasStrategy : public Strategy {
 public:
  explicit HnasStrategy(const StrategySetting& setting)
      : budget_(setting.budget),
        pool_(bound_pool(setting)),
        hnas_(pool_.entries, {.acquisition = setting.options.acquisition,
                              .ucb_width = setting.options.ucb_width,
                              .initial = setting.options.initial,
                              .seed = setting.seed}) {
    log::debug("hnas: {} of {} architectures have a usable {} and kappa.", hnas_.usable(), pool_.entries.size(),
               setting.options.metric);
  }

  std::optional<Proposal> propose() override {
    const auto place = hnas_.propose();
    if (!place) return std::nullopt;
    const auto [mu, nu] = hnas_.parameters();
    return Proposal{pool_.architecture(*place), budget_, {{"mu", mu}, {"nu", nu}}};
  }

  void tell(const Proposal&, double accuracy) override { hnas_.tell(accuracy); }

 private:
  // The objective is a bound on the error: it wants metrics as magnitudes.
  static MetricPool bound_pool(const StrategySetting& setting) {
    MetricPool pool = read_metric_pool(setting.options.metrics, setting.options.metric, *setting.space);
    for (PoolEntry& entry : pool.entries) entry.metric = as_bound(setting.options.metric, entry.metric);
    return pool;
  }

  Budget budget_;
  MetricPool pool_;
  Hnas hnas_;
};

NASCENT_REGISTER(
    Strategy, "hnas", "Bayesian optimisation of a training-free objective over a pool",
    [](const StrategySetting& setting) { return std::make_unique<HnasStrategy>(setting); },
    StrategyFacts{.pool = true, .sequential = true, .recipe = "hnas"});

}  // namespace
}  // namespace nascent
