// Members selected from a pool: a random one (NES-RS), or one that evolves (NES-RE; Zaidi et al. 2021).
#include <algorithm>
#include <deque>

#include "nascent/core/progress.h"
#include "nascent/ensemble/ensemble_options.h"
#include "nascent/ensemble/method.h"
#include "nascent/ensemble/selection.h"

namespace nascent {
namespace {

// The ensemble that the options' selection makes of a pool.
Selected select(const MethodSetup& setup, const std::vector<Genotype>& pool, int size, const std::string& selection) {
  const Members members = setup.judge.members(pool);
  const SelectionPool candidates(members, setup.judge.labels(), setup.judge.combine());
  const Selected chosen = select_members(selection, {candidates, size, setup.options.beam});
  setup.judge.count_ensembles(chosen.judged);
  return chosen;
}

FoundEnsemble found(const MethodSetup& setup, const std::vector<Genotype>& pool, const Selected& chosen) {
  FoundEnsemble result;
  for (const size_t member : chosen.members) result.members.push_back(pool[member]);
  result.weights = chosen.weights;
  result.loss = chosen.loss;
  result.trace.push_back({{"round", 1},
                          {"loss", chosen.loss},
                          {"best", chosen.loss},
                          {"networks", setup.judge.networks()},
                          {"ensembles", setup.judge.ensembles()}});
  return result;
}

void evaluate_all(const MethodSetup& setup, const std::vector<Genotype>& pool) {
  Progress progress("pool", static_cast<int64_t>(pool.size()));
  for (const Genotype& genotype : pool) {
    stop_if_asked();
    setup.judge.predictions(genotype);
    progress.advance(1);
  }
}

FoundEnsemble random_search(const MethodSetup& setup) {
  const auto pool = random_pool(setup, setup.options.pool);
  evaluate_all(setup, pool);
  return found(setup, pool, select(setup, pool, setup.options.members, setup.options.selection));
}

// A forward selection from the population names the parents; a mutation of one of them is born, the oldest dies. The
// ensemble is selected from all that ever lived.
FoundEnsemble evolution(const MethodSetup& setup) {
  const EnsembleOptions& options = setup.options;
  const int start = std::min(options.population, options.networks);
  std::vector<Genotype> everyone = random_pool(setup, start);
  evaluate_all(setup, everyone);
  std::deque<Genotype> living(everyone.begin(), everyone.end());
  Json trace = Json::array();
  Progress progress("evolution", options.networks, start);
  for (int i = start; i < options.networks; ++i) {
    stop_if_asked();
    const std::vector<Genotype> population(living.begin(), living.end());
    const int parents = std::min(options.parents, static_cast<int>(population.size()));
    const Selected named = select(setup, population, parents, "forward");
    RandomStream random(setup.seed, "evolution", {static_cast<uint64_t>(i)});
    const size_t parent = named.members[static_cast<size_t>(random.below(parents))];
    Genotype child = setup.space.mutate(population[parent], random);
    setup.judge.predictions(child);
    everyone.push_back(child);
    living.push_back(std::move(child));
    living.pop_front();
    progress.advance(1, fmt::format("parents' loss {:.4f}", named.loss));
    trace.push_back({{"round", i - start + 1},
                     {"loss", named.loss},
                     {"networks", setup.judge.networks()},
                     {"ensembles", setup.judge.ensembles()}});
  }
  FoundEnsemble result = found(setup, everyone, select(setup, everyone, options.members, options.selection));
  double best = trace.empty() ? result.loss : trace[0].at("loss").get<double>();
  for (Json& line : trace) line["best"] = best = std::min(best, line.at("loss").get<double>());
  for (Json& line : result.trace) {
    line["round"] = static_cast<int>(trace.size()) + 1;
    trace.push_back(line);
  }
  result.trace = std::move(trace);
  return result;
}

NASCENT_REGISTER(EnsembleMethod, "nes-rs", "selection from a random pool (NES-RS)", random_search);
NASCENT_REGISTER(EnsembleMethod, "nes-re", "selection from a pool that evolves (NES-RE)", evolution);

}  // namespace
}  // namespace nascent
