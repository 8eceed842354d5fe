// Regularised evolution (Real et al. 2019): the best of a tournament has a child that differs in one choice, and the
// oldest of the population dies.
#include <deque>

#include "nascent/search/strategy.h"

namespace nascent {
namespace {

class EvolutionStrategy : public Strategy {
 public:
  explicit EvolutionStrategy(const StrategySetting& setting) : setting_(setting), random_(setting.seed, "evolution") {}

  bool ready() const override { return founders_ < setting_.options.population || !population_.empty(); }

  std::optional<Proposal> propose() override {
    const bool founding = founders_ < setting_.options.population;
    if (founding) ++founders_;
    return Proposal{founding ? setting_.space->sample(random_) : setting_.space->mutate(parent(), random_),
                    setting_.budget};
  }

  void tell(const Proposal& proposal, double accuracy) override {
    population_.push_back({proposal.genotype, accuracy});
    if (static_cast<int>(population_.size()) > setting_.options.population) population_.pop_front();
  }

 private:
  struct Individual {
    Genotype genotype;
    double accuracy;
  };

  // Drawn with replacement, as NAS-Bench-201 does.
  const Genotype& parent() {
    const Individual* best = nullptr;
    for (int i = 0; i < setting_.options.tournament; ++i) {
      const Individual& drawn = population_[random_.below(static_cast<int64_t>(population_.size()))];
      if (best == nullptr || drawn.accuracy > best->accuracy) best = &drawn;
    }
    return best->genotype;
  }

  StrategySetting setting_;
  RandomStream random_;
  std::deque<Individual> population_;  // the oldest first
  int founders_ = 0;                   // proposed so far
};

NASCENT_REGISTER(
    Strategy, "rea", "regularised evolution: tournaments, one mutation, the oldest dies",
    [](const StrategySetting& setting) { return std::make_unique<EvolutionStrategy>(setting); },
    StrategyFacts{.recipe = "rea"});

}  // namespace
}  // namespace nascent
