// Judging by a training-free metric.
#include <chrono>
#include <cmath>
#include <limits>

#include "nascent/score/scoring.h"
#include "nascent/search/judge.h"
#include "nascent/search/problem.h"

namespace nascent {
namespace {

ScoreOptions only(const std::string& metric, ScoreOptions options) {
  options.metrics = {metric};
  return options;
}

class MetricJudge : public Judge {
 public:
  MetricJudge(const Problem& problem, const std::string& metric)
      : metric_(metric),
        low_(Metric::Registry::instance().at(metric).facts.lower_is_better),
        scorer_(scorer_setup(problem.space(), problem.options().network, problem.options().score, problem.images(),
                             problem.options().data.batch, problem.seed()),
                only(metric, problem.options().score)) {}

  Judgement judge(const Genotype& genotype, const Budget&) override {
    const auto start = std::chrono::steady_clock::now();
    const double value = scorer_.scores(genotype).at(metric_);
    const double worth = std::isnan(value) ? -std::numeric_limits<double>::infinity() : low_ ? -value : value;
    return {worth, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count()};
  }

 private:
  std::string metric_;
  bool low_;
  Scorer scorer_;
};

NASCENT_REGISTER(
    Judge, "metric", "scores each architecture by a training-free metric (--judge-metric)",
    [](const Problem& problem) { return std::make_unique<MetricJudge>(problem, problem.options().judging.metric); },
    JudgeFacts{.accuracy = false, .spreads = true});

}  // namespace
}  // namespace nascent
