// BOHB (Falkner et al. 2018): Hyperband's brackets of successive halving, whose architectures come from two kernel
// densities, one of good and one of bad results.
#include <algorithm>
#include <cmath>
#include <deque>
#include <map>

#include "nascent/search/black_box/choice_density.h"
#include "nascent/search/encoding.h"
#include "nascent/search/strategy.h"

namespace nascent {
namespace {

struct Result {
  Choices choices;
  double accuracy = 0;
};

void sort_best_first(std::vector<Result>& results) {
  std::stable_sort(results.begin(), results.end(),
                   [](const Result& a, const Result& b) { return a.accuracy > b.accuracy; });
}

// Budgets at least `eta` apart, from the largest down; ascending.
std::vector<Budget> ladder(std::vector<Budget> budgets, double eta) {
  std::sort(budgets.begin(), budgets.end(), [](const Budget& a, const Budget& b) { return a.epochs < b.epochs; });
  std::vector<Budget> rungs;
  for (auto budget = budgets.rbegin(); budget != budgets.rend(); ++budget) {
    if (rungs.empty() || budget->epochs * eta <= rungs.back().epochs) rungs.push_back(*budget);
  }
  std::reverse(rungs.begin(), rungs.end());
  return rungs;
}

// Draws architectures that the results so far speak for.
class Sampler {
 public:
  Sampler(const StrategySetting& setting, const Encoding& encoding)
      : options_(setting.options), encoding_(encoding), random_(setting.seed, "bohb") {}

  void add(const Budget& budget, const Choices& choices, double accuracy) {
    results_[budget].push_back({choices, accuracy});
  }

  Choices draw() {
    const std::vector<Result>* results = modelled();
    if (results == nullptr || random_.uniform() < options_.random_fraction) return encoding_.sample(random_);
    std::vector<Result> sorted = *results;
    sort_best_first(sorted);
    const ChoiceDensity good = density(sorted, 0, good_count(sorted.size()));
    const ChoiceDensity bad = density(sorted, sorted.size() - bad_count(sorted.size()), sorted.size());
    Choices best;
    double best_ratio = -1;
    for (int tries = 0, found = 0; found < options_.samples && tries < 1000 * options_.samples; ++tries) {
      Choices candidate = good.sample(random_, options_.bandwidth_factor);
      if (!encoding_.decode(candidate)) continue;
      ++found;
      const double ratio = good.density(candidate) / std::max(bad.density(candidate), 1e-32);
      if (ratio > best_ratio) best_ratio = ratio, best = std::move(candidate);
    }
    return best.empty() ? encoding_.sample(random_) : best;
  }

 private:
  // A model needs a point more than it has choices, on either side.
  size_t least() const { return encoding_.sizes().size() + 1; }
  size_t good_count(size_t n) const { return std::max(least(), static_cast<size_t>(options_.good_fraction * n)); }
  size_t bad_count(size_t n) const { return std::max(least(), static_cast<size_t>((1 - options_.good_fraction) * n)); }

  // The results of the largest budget that has enough of them.
  const std::vector<Result>* modelled() const {
    for (auto results = results_.rbegin(); results != results_.rend(); ++results) {
      if (results->second.size() >= least() + 2) return &results->second;
    }
    return nullptr;
  }

  ChoiceDensity density(const std::vector<Result>& sorted, size_t from, size_t to) const {
    std::vector<Choices> points;
    for (size_t i = from; i < to; ++i) points.push_back(sorted[i].choices);
    return {points, encoding_.sizes(), options_.min_bandwidth};
  }

  StrategyOptions options_;
  const Encoding& encoding_;
  RandomStream random_;
  std::map<Budget, std::vector<Result>> results_;
};

class BohbStrategy : public Strategy {
 public:
  explicit BohbStrategy(const StrategySetting& setting)
      : encoding_(setting.space),
        sampler_(setting, encoding_),
        rungs_(ladder(setting.fidelities.empty() ? std::vector<Budget>{setting.budget} : setting.fidelities,
                      setting.options.eta)) {
    begin_bracket();
  }

  // The next rung needs all results of this one.
  bool ready() const override { return to_draw_ > 0 || !promoted_.empty(); }

  std::optional<Proposal> propose() override {
    if (to_draw_ == 0 && promoted_.empty()) next_rung();
    if (to_draw_ > 0) {
      --to_draw_;
      out_.push_back(sampler_.draw());
    } else {
      out_.push_back(std::move(promoted_.back()));
      promoted_.pop_back();
    }
    return Proposal{*encoding_.decode(out_.back()), rungs_[rung_]};
  }

  void tell(const Proposal& proposal, double accuracy) override {
    sampler_.add(proposal.budget, out_.front(), accuracy);
    done_.push_back({std::move(out_.front()), accuracy});
    out_.pop_front();
  }

 private:
  // Bracket s starts s rungs below the top; from the longest ladder to none, and again.
  void begin_bracket() {
    const size_t count = rungs_.size();
    const size_t below = count - 1 - brackets_++ % count;
    rung_ = count - 1 - below;
    const double ratio = static_cast<double>(rungs_.back().epochs) / rungs_[rung_].epochs;
    to_draw_ = static_cast<size_t>(std::ceil(static_cast<double>(count) / static_cast<double>(below + 1) * ratio));
    done_.clear();
  }

  // The best of a rung are promoted, fewer by the ratio of the budgets.
  void next_rung() {
    if (rung_ + 1 == rungs_.size()) return begin_bracket();
    const double ratio = static_cast<double>(rungs_[rung_ + 1].epochs) / rungs_[rung_].epochs;
    const auto keep = static_cast<size_t>(static_cast<double>(done_.size()) / ratio + 1e-9);
    sort_best_first(done_);
    for (size_t i = 0; i < std::max<size_t>(1, keep); ++i) promoted_.push_back(done_[i].choices);
    std::reverse(promoted_.begin(), promoted_.end());
    done_.clear();
    ++rung_;
  }

  Encoding encoding_;
  Sampler sampler_;
  std::vector<Budget> rungs_;
  size_t brackets_ = 0, rung_ = 0, to_draw_ = 0;
  std::vector<Choices> promoted_;  // the best last
  std::vector<Result> done_;       // in this rung
  std::deque<Choices> out_;        // proposed, not told yet
};

NASCENT_REGISTER(
    Strategy, "bohb", "Hyperband with kernel densities of good and bad results",
    [](const StrategySetting& setting) { return std::make_unique<BohbStrategy>(setting); },
    StrategyFacts{.several_budgets = true, .recipe = "bohb"});
NASCENT_REGISTER(
    Strategy, "tpe", "bohb's densities without its brackets: every validation has the full budget",
    [](StrategySetting setting) {
      setting.fidelities = {setting.budget};
      return std::make_unique<BohbStrategy>(setting);
    },
    StrategyFacts{.recipe = "tpe"});

}  // namespace
}  // namespace nascent
