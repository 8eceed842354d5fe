// NESBS's two samplers (thesis, Algs. 5.2 and 5.3) and uniform random sampling, each in rounds.
#include <limits>
#include <set>

#include "nascent/core/log.h"
#include "nascent/ensemble/diversity.h"
#include "nascent/ensemble/ensemble_options.h"
#include "nascent/ensemble/method.h"
#include "nascent/ensemble/relaxed_posterior.h"
#include "nascent/score/score_cache.h"

namespace nascent {
namespace {

FoundEnsemble monte_carlo(const MethodSetup& setup) {
  return best_of_rounds(setup, [&](int round, Json&) {
    const auto draw = [&](uint64_t index) {
      RandomStream random(setup.seed, "monte carlo", {static_cast<uint64_t>(round), index});
      return setup.posterior->sample(random);
    };
    return draw_members(setup, setup.options.members, draw,
                        fmt::format("the posterior is too sharp: raise --tau (now {:g}), or use --no-distinct.",
                                    setup.posterior->temperature()));
  });
}

FoundEnsemble uniform(const MethodSetup& setup) {
  return best_of_rounds(setup, [&](int round, Json&) {
    const auto draw = [&](uint64_t index) {
      RandomStream random(setup.seed, "uniform", {static_cast<uint64_t>(round), index});
      return setup.space.sample(random);
    };
    return draw_members(setup, setup.options.members, draw, "the space is too small: lower --members.");
  });
}

int count_equal(const std::vector<Genotype>& members) {
  std::set<std::string> different;
  for (const Genotype& member : members) different.insert(ScoreCache::key(member));
  return static_cast<int>(members.size() - different.size());
}

// Every delta starts from the round's own particles, so that only delta differs.
FoundEnsemble stein(const MethodSetup& setup) {
  const RelaxedPosterior relaxed(*setup.posterior);
  const EnsembleOptions& options = setup.options;
  const auto gradient = [&](std::span<const double> x, std::span<double> out) { relaxed.gradient(x, out); };
  const auto members_at = [&](int round, double delta, double* distance) {
    Particles particles =
        gaussian_particles(options.members, relaxed.dimensions(), setup.seed, static_cast<uint64_t>(round));
    svgd(particles, gradient,
         {.delta = delta, .iterations = options.iterations, .step = options.step, .momentum = options.momentum});
    if (distance != nullptr) *distance = mean_pair_distance(particles);
    std::vector<Genotype> members;
    for (const Particle& particle : particles) members.push_back(relaxed.decode(particle));
    return members;
  };
  return best_of_rounds(setup, [&](int round, Json& line) {
    const auto trials = search_delta(
        options.delta, [&](double delta) { return setup.judge.loss(members_at(round, delta, nullptr)); },
        setup.seed + static_cast<uint64_t>(round));
    DeltaTrial best = trials.front();
    Json tried = Json::array();
    for (const DeltaTrial& trial : trials) {
      tried.push_back({{"delta", trial.delta}, {"loss", trial.loss}});
      if (trial.loss < best.loss) best = trial;
    }
    double distance = 0;
    const auto members = members_at(round, best.delta, &distance);
    setup.judge.count_ensembles(-1);  // the winner is judged once more by the rounds
    line.update({{"delta", best.delta}, {"distance", distance}, {"deltas", tried}});
    if (const int equal = count_equal(members); equal > 0) {
      line["equal"] = equal;
      log::info("Round {}: {} of {} particles came to an architecture of another; they are kept as seeds of it.",
                round + 1, equal, members.size());
    }
    return members;
  });
}

NASCENT_REGISTER(EnsembleMethod, "mc", "rounds of independent draws from the posterior (NESBS, MC Sampling)",
                 monte_carlo, EnsembleMethodFacts{.posterior = true, .reads = {"members", "rounds", "distinct"}});
NASCENT_REGISTER(EnsembleMethod, "svgd", "rounds of particles that climb the posterior and keep apart (NESBS, SVGD-RD)",
                 stein,
                 EnsembleMethodFacts{
                     .posterior = true,
                     .reads = {"members", "rounds", "delta", "iterations", "step", "particle-momentum"}});
NASCENT_REGISTER(EnsembleMethod, "uniform", "rounds of uniform draws from the space (URS)", uniform,
                 EnsembleMethodFacts{.reads = {"members", "rounds", "distinct"}});

}  // namespace
}  // namespace nascent
