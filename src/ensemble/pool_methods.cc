// Members selected from a pool: a random one (NES-RS), or one that evolves (NES-RE; Zaidi et al. 2021).
#include <algorithm>
#include <set>

#include "nascent/core/log.h"
#include "nascent/core/progress.h"
#include "nascent/ensemble/ensemble_options.h"
#include "nascent/ensemble/method.h"
#include "nascent/ensemble/selection.h"
#include "nascent/score/score_cache.h"

namespace nascent {
namespace {

Selected select(const MethodSetup& setup, const std::vector<Genotype>& pool, int size, const std::string& selection) {
  const SelectionPool candidates(setup.judge.tables(pool), setup.judge.labels(), setup.judge.combine());
  const Selected chosen = select_members(selection, {candidates, size, setup.options.beam});
  setup.judge.count_ensembles(chosen.judged);
  return chosen;
}

// The ensemble that a selection makes of all that was evaluated.
void add_selected(const MethodSetup& setup, const std::vector<Genotype>& pool, const std::string& selection,
                  BestSoFar& best) {
  const Selected chosen = select(setup, pool, setup.options.members, selection);
  std::vector<Genotype> members;
  for (const size_t member : chosen.members) members.push_back(pool[member]);
  best.add(members, chosen.weights, chosen.loss);
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
  BestSoFar best(setup);
  add_selected(setup, pool, setup.options.selection, best);
  return best.found();
}

// NES-RE: a forward selection from the population names the parents; a mutation of one of them is born, the oldest
// dies. The ensemble is selected from all that ever lived.
class Evolution {
 public:
  explicit Evolution(const MethodSetup& setup) : setup_(setup), options_(setup.options), best_(setup) {}

  FoundEnsemble run() {
    const int start = std::min(options_.population, options_.networks);
    everyone_ = random_pool(setup_, start);
    evaluate_all(setup_, everyone_);
    for (const Genotype& genotype : everyone_) seen_.insert(ScoreCache::key(genotype));
    Progress progress("evolution", options_.networks, start);
    while (count() < options_.networks) {
      stop_if_asked();
      std::optional<Genotype> child = mutation();
      if (!child) break;
      setup_.judge.predictions(*child);
      everyone_.push_back(std::move(*child));
      if (count() >= options_.members && count() < options_.networks) {
        add_selected(setup_, everyone_, "forward", best_);
        progress.advance(1, fmt::format("best loss {:.4f}", best_.found().loss));
      } else {
        progress.advance(1);
      }
    }
    add_selected(setup_, everyone_, options_.selection, best_);
    return best_.found();
  }

 private:
  int count() const { return static_cast<int>(everyone_.size()); }

  // Who lives is who was born last.
  std::vector<Genotype> population() const {
    const auto living = std::min<int64_t>(options_.population, count());
    return {everyone_.end() - living, everyone_.end()};
  }

  // Of a parent of this generation, one that was not there before: the same again would tell nothing new, and could
  // make an ensemble of one architecture. Nothing where there is none to be found.
  std::optional<Genotype> mutation() {
    const std::vector<Genotype> living = population();
    const int parents = std::min(options_.parents, static_cast<int>(living.size()));
    const Selected named = select(setup_, living, parents, "forward");
    RandomStream random(setup_.seed, "evolution", {static_cast<uint64_t>(count())});
    for (int attempt = 0; attempt < kMostMutations; ++attempt) {
      const size_t parent = named.members[static_cast<size_t>(random.below(parents))];
      Genotype child = setup_.space.mutate(living[parent], random);
      if (seen_.insert(ScoreCache::key(child)).second || !options_.distinct) return child;
    }
    log::info("{} mutations gave no new architecture: the evolution ends after {} of {} networks.", kMostMutations,
              count(), options_.networks);
    return std::nullopt;
  }

  static constexpr int kMostMutations = 1000;

  const MethodSetup& setup_;
  const EnsembleOptions& options_;
  std::vector<Genotype> everyone_;  // in the order of their birth
  std::set<std::string> seen_;
  BestSoFar best_;
};

NASCENT_REGISTER(EnsembleMethod, "nes-rs", "selection from a random pool (NES-RS)", random_search,
                 EnsembleMethodFacts{.reads = {"members", "pool", "selection", "beam", "distinct"}});
NASCENT_REGISTER(
    EnsembleMethod, "nes-re", "selection from a pool that evolves (NES-RE)",
    [](const MethodSetup& setup) { return Evolution(setup).run(); },
    EnsembleMethodFacts{.reads = {"members", "population", "parents", "networks", "selection", "beam", "distinct"}});

}  // namespace
}  // namespace nascent
