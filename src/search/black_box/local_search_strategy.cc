// Local search (White et al. 2021): all neighbours of an architecture are tried and the best one, if better, is next;
// where none is better, it starts again elsewhere.
#include <algorithm>
#include <deque>
#include <limits>
#include <map>

#include "nascent/search/encoding.h"
#include "nascent/search/strategy.h"

namespace nascent {
namespace {

class LocalSearchStrategy : public Strategy {
 public:
  explicit LocalSearchStrategy(const StrategySetting& setting)
      : setting_(setting), encoding_(setting.space), random_(setting.seed, "local search") {}

  // Where to go next is decided when all neighbours are known.
  bool ready() const override {
    return std::any_of(to_try_.begin(), to_try_.end(), [&](const Choices& next) { return is_new(next); });
  }

  std::optional<Proposal> propose() override {
    // Restarts may land on what is known; a space that is known entirely ends the search.
    for (int tries = 0; tries < 100000; ++tries) {
      if (const auto next = next_unknown()) {
        out_.push_back(*next);
        return Proposal{*encoding_.decode(*next), setting_.budget};
      }
    }
    return std::nullopt;
  }

  void tell(const Proposal&, double accuracy) override {
    const Choices told = std::move(out_.front());
    out_.pop_front();
    known_[told] = accuracy;
    consider(told, accuracy);
  }

 private:
  struct Place {
    Choices choices;
    double accuracy = -std::numeric_limits<double>::infinity();
  };

  bool is_new(const Choices& choices) const {
    return !known_.contains(choices) && std::find(out_.begin(), out_.end(), choices) == out_.end();
  }

  // Walks on over what is known already, up to the next architecture that is not.
  std::optional<Choices> next_unknown() {
    while (!to_try_.empty()) {
      Choices next = std::move(to_try_.back());
      to_try_.pop_back();
      if (is_new(next)) return next;
      if (const auto known = known_.find(next); known != known_.end()) consider(next, known->second);
    }
    if (best_.accuracy > current_.accuracy) {
      move();
    } else {
      current_ = best_ = {};
      to_try_ = {encoding_.sample(random_)};
    }
    return std::nullopt;
  }

  void consider(const Choices& choices, double accuracy) {
    if (accuracy > best_.accuracy) best_ = {choices, accuracy};
    const bool start = current_.choices.empty();
    if (start || (setting_.options.first_better && best_.accuracy > current_.accuracy)) move();
  }

  // Goes to the best place seen around here, and lines up its neighbours in random order.
  void move() {
    current_ = best_;
    to_try_.clear();
    const std::vector<Choices> all = encoding_.neighbours(current_.choices);
    for (const int64_t i : random_.permutation(static_cast<int64_t>(all.size()))) to_try_.push_back(all[i]);
  }

  StrategySetting setting_;
  Encoding encoding_;
  RandomStream random_;
  std::map<Choices, double> known_;
  Place current_, best_;  // where it stands, and the best of its neighbourhood so far
  std::vector<Choices> to_try_;
  std::deque<Choices> out_;  // proposed, not told yet
};

NASCENT_REGISTER(
    Strategy, "local-search", "moves to the best neighbour while there is a better one, then starts again",
    [](const StrategySetting& setting) { return std::make_unique<LocalSearchStrategy>(setting); },
    StrategyFacts{.recipe = "local-search"});

}  // namespace
}  // namespace nascent
