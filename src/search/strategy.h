// Search strategies that ask for validations of whole architectures: random search, evolution, and their kind. Each
// proposes an architecture and is told how good it is.
//
//   auto strategy = Strategy::Registry::instance().make("rea", setting);
//   while (const auto proposal = strategy->propose()) strategy->tell(*proposal, accuracy_of(proposal->genotype));
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "nascent/core/options.h"
#include "nascent/core/registry.h"
#include "nascent/space/space.h"
#include "nascent/table/measure.h"

namespace nascent {

struct StrategyOptions {
  int population = 10, tournament = 3;
  double reinforce_lr = 0.01, baseline_decay = 0.9;
  int samples = 4;
  double random_fraction = 0, good_fraction = 0.15, min_bandwidth = 0.3, bandwidth_factor = 3, eta = 3;
  bool first_better = false;
  std::string metrics;  // file of the pool, for strategies that choose from one; not declared (search/pool.h)
  std::string metric = "trace", acquisition = "ei";
  double ucb_width = 2;
  int initial = 5;
  std::string command;  // external: the program that proposes

  void declare(OptionTable& table);  // section "strategy"
};

struct Proposal {
  Genotype genotype{};
  Budget budget{};
  Json named_by{};  // the parameters that led to it, for the record; null: none
};

// What a strategy is made for.
struct StrategySetting {
  std::shared_ptr<const Space> space;
  Budget budget{};                   // of one validation
  std::vector<Budget> fidelities{};  // for strategies that use several budgets, ascending
  StrategyOptions options{};
  uint64_t seed = 1;
  // Where a run is resumed, what it proposed so far: a strategy that is not reproducible proposes that first.
  std::vector<Proposal> proposed{};
  std::string resume{};  // what people type to go on with the run, for messages; "": nothing
};

// What others must know of a strategy.
struct StrategyFacts {
  bool pool = false;             // it chooses from a pool of architectures with training-free metrics
  bool several_budgets = false;  // it asks for judgements at several budgets
  bool reproducible = true;      // its proposals follow from the seed and what it was told
  bool sequential = false;       // it proposes only when it was told of all that it proposed before
  std::string recipe{};          // that shows its published settings
};

class Strategy {
 public:
  static std::string kind() { return "search strategy"; }
  using Registry = nascent::Registry<Strategy, std::unique_ptr<Strategy>(const StrategySetting&), StrategyFacts>;

  virtual ~Strategy() = default;
  // Whether it can propose before it is told of what is still out (--in-flight). Asked only while something is.
  virtual bool ready() const { return true; }
  // What to validate next; nothing where there is nothing left to try.
  virtual std::optional<Proposal> propose() = 0;
  // What the validation that is told next cost; most do not care. Of a resumed run, what it cost the first time.
  virtual void spent(double /*seconds*/) {}
  // The outcome of a proposal. Outcomes are told in the order of the proposals; several may be out at once.
  virtual void tell(const Proposal& proposal, double accuracy) = 0;
};

}  // namespace nascent
