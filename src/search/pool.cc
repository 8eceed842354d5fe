#include "nascent/search/pool.h"

#include <algorithm>

#include "nascent/core/error.h"
#include "nascent/score/probe.h"
#include "nascent/score/scoring.h"
#include "nascent/search/black_box/metric_pool.h"

namespace nascent {

Pool::Pool(const Problem& problem, std::string metric) : problem_(problem), metric_(std::move(metric)) {
  const SearchOptions& options = problem.options();
  const PoolOptions& pool = options.pool;
  Metric::Registry::instance().at(metric_);
  const int ways = pool.file.empty() ? (pool.all ? 1 : 0) + (pool.sample > 0 ? 1 : 0) : 1;
  if (ways != 1) {
    fail(
        "{} chooses from architectures by their training-free metrics: give --all or --sample N, or --pool FILE, a CSV "
        "file with the columns arch, {} and {} as 'nascent score --csv FILE' writes it, or its cache; found {} of "
        "these.",
        options.method, metric_, kConditionNumber, ways == 0 ? "none" : "several");
  }
  if (!pool.file.empty()) read_metric_pool(pool.file, metric_, *problem.space());  // refuses what is not there
}

ScorerSetup Pool::setup() const {
  const SearchOptions& options = problem_.options();
  return scorer_setup(problem_.space(), options.network, options.score, problem_.images(), options.data.batch,
                      problem_.seed());
}

Architectures Pool::architectures() const {
  const PoolOptions& pool = problem_.options().pool;
  return pool.all ? Architectures::all(problem_.space())
                  : Architectures::sample(problem_.space(), pool.sample, problem_.seed());
}

std::string Pool::file(const std::filesystem::path& folder) const {
  if (!problem_.options().pool.file.empty()) return problem_.options().pool.file;
  ScoreOptions options = problem_.options().score;
  options.metrics = {metric_, kConditionNumber};
  Scorer scorer(setup(), options);
  const Architectures all = architectures();
  const std::string path = (folder / "metrics.csv").string();
  write_scores(path, all, score_all(scorer, all, problem_.options().run.threads));
  return path;
}

Genotype Pool::best() const {
  if (const std::string& file = problem_.options().pool.file; !file.empty()) {
    const MetricPool pool = read_metric_pool(file, metric_, *problem_.space());
    return pool.architecture(best_first(pool, metric_).front());
  }
  ScoreOptions options = problem_.options().score;
  options.metrics = {metric_};
  Scorer scorer(setup(), options);
  const Architectures all = architectures();
  return all[best_by(metric_, score_all(scorer, all, problem_.options().run.threads))];
}

}  // namespace nascent
