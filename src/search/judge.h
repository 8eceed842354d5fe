// How an architecture is judged while searching: by the shared weights of a supernet, by training it, by a benchmark's
// table, or by a training-free metric.
//
//   const auto judge = Judge::Registry::instance().make("table", problem);
//   const Judgement found = judge->judge(genotype, judge->budget());
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "nascent/core/registry.h"
#include "nascent/space/genotype.h"
#include "nascent/table/measure.h"

namespace nascent {

class Problem;

struct Judgement {
  double accuracy = 0;  // on held-out data, %; by a metric: its value, negative where lower is better, or NaN
  double seconds = 0;   // what it cost
};

struct JudgeFacts {
  bool accuracy = true;  // what it says is an accuracy on held-out data
  bool clock = false;    // its seconds are always the same, so that a search may be limited by them
  bool table = false;    // it looks things up in the benchmark table that the options name
  bool spreads = false;  // a judgement takes long, and other processes can make it (cluster/farm.h)
};

class Judge {
 public:
  static std::string kind() { return "judge"; }
  // Makers refuse what they cannot judge by, before anything is searched.
  using Registry = nascent::Registry<Judge, std::unique_ptr<Judge>(const Problem&), JudgeFacts>;

  virtual ~Judge() = default;
  // What is known, or what is found out and known from now on.
  Judgement judge(const Genotype& genotype, const Budget& budget);
  // Trains for the budget and validates, or looks up what came of it.
  virtual Judgement judge_anew(const Genotype& genotype, const Budget& budget) = 0;
  // For judges that remember. What is remembered already stays as it is, so that outcomes are kept once, in the order
  // in which they are remembered; those whose turn has not come are kept ahead, and can be recalled from there.
  virtual std::optional<Judgement> recall(const Genotype&, const Budget&) { return std::nullopt; }
  virtual void remember(const Genotype&, const Budget&, const Judgement&) {}
  virtual void keep_ahead(const Genotype&, const Budget&, const Judgement&) {}
  // Of one judgement.
  virtual Budget budget() const { return Budget(1); }
  // What searches over several budgets (BOHB) may ask for, ascending.
  virtual std::vector<Budget> fidelities() const { return {budget()}; }
};

inline Judgement Judge::judge(const Genotype& genotype, const Budget& budget) {
  const auto known = recall(genotype, budget);
  const Judgement found = known ? *known : judge_anew(genotype, budget);
  remember(genotype, budget, found);
  return found;
}

}  // namespace nascent
