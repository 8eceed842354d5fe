// Judging by a training-free metric.
#include <chrono>

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

  Judgement judge_anew(const Genotype& genotype, const Budget&) override {
    const auto start = std::chrono::steady_clock::now();
    const double value = scorer_.compute(genotype, {metric_}).at(metric_);
    return {turned(value), std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count()};
  }

  std::optional<Judgement> recall(const Genotype& genotype, const Budget&) override {
    for (const Scores& known : {scorer_.known(genotype), scorer_.known_ahead(genotype)}) {
      if (const auto score = known.find(metric_); score != known.end()) return Judgement{turned(score->second)};
    }
    return std::nullopt;
  }

  void remember(const Genotype& genotype, const Budget&, const Judgement& found) override {
    if (!scorer_.knows(genotype)) scorer_.add(genotype, scores_of(found));
  }

  void keep_ahead(const Genotype& genotype, const Budget&, const Judgement& found) override {
    scorer_.keep_ahead(genotype, scores_of(found));
  }

 private:
  // Between values of the metric and worths, where more is better.
  double turned(double value) const { return low_ ? -value : value; }
  Scores scores_of(const Judgement& found) const { return {{metric_, turned(found.accuracy)}}; }

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
