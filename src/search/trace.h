// A search by a strategy against a clock: every validation is charged, and what was best so far is remembered.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "nascent/search/judge.h"
#include "nascent/search/strategy.h"

namespace nascent {

struct Trial {
  Proposal proposal;
  double accuracy = 0;
  double seconds = 0;    // on the clock when it was done
  size_t incumbent = 0;  // the best trial so far: of the largest budget validated, the highest accuracy
};

// Everything that a search did, in order.
struct SearchTrace {
  std::vector<Trial> trials;

  // What the search would have answered after so many seconds; null where it had nothing yet.
  const Trial* incumbent_after(double seconds) const;
  // Adds a trial, of which only the incumbent is not known.
  void add(Trial trial);
  const Trial* incumbent() const { return trials.empty() ? nullptr : &trials[trials.back().incumbent]; }
};

// A search with several validations under way. Proposal i + K waits for the outcome of proposal i, and outcomes are
// told in the order of the proposals, whenever they come in: the trace depends on K, never on who validates or how
// fast.
class SearchInFlight {
 public:
  using Told = std::function<void(const Proposal&, const Judgement&)>;

  // Ends when a validation would end after `seconds`, `most` trials are done, or the strategy has nothing left to try.
  // `told` is called for every outcome whose turn has come, before the strategy is told.
  SearchInFlight(Strategy& strategy, double seconds, size_t most, size_t in_flight, Told told = {});

  // What to validate next, and the number that its outcome goes by; nothing where outcomes must come in first, or at
  // the end.
  std::optional<std::pair<size_t, Proposal>> next();
  // What is not a number is worth less than anything.
  void outcome(size_t number, const Judgement& found);
  // Whether this is the outcome that is told next.
  bool is_turn_of(size_t number) const { return !ended_ && number == turn_; }
  bool ended() const { return ended_; }
  const SearchTrace& trace() const { return trace_; }

 private:
  void propose();

  Strategy& strategy_;
  double seconds_, clock_ = 0;
  size_t most_, in_flight_;
  Told told_;
  bool begun_ = false, ended_ = false;
  std::deque<std::pair<size_t, Proposal>> proposed_;  // not asked for yet
  std::deque<Proposal> out_;                          // proposed and not told yet
  std::map<size_t, Judgement> waiting_;               // outcomes whose turn has not come, by number
  size_t turn_ = 0;                                   // the number of out_.front()
  SearchTrace trace_;
};

// Runs until a validation would end after `seconds`, `most` trials are done, or the strategy has nothing left to try.
// Each validation is charged in full, also that of an architecture seen before, as in NAS-Bench-201's own experiments.
// `in_flight`: as above, one after another in this process.
SearchTrace search(Strategy& strategy, Judge& judge, double seconds, size_t most = 1'000'000, size_t in_flight = 1);
// What result.json keeps of the trials, read again; `space` is that of the architectures.
SearchTrace trace_of(const Json& trials, const std::string& space);

}  // namespace nascent
