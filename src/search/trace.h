// A search by a strategy against a clock: every validation is charged, and what was best so far is remembered.
#pragma once

#include <string>
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

// Runs until a validation would end after `seconds`, `most` trials are done, or the strategy has nothing left to try.
// Each validation is charged in full, also that of an architecture seen before, as in NAS-Bench-201's own experiments.
SearchTrace search(Strategy& strategy, Judge& judge, double seconds, size_t most = 1'000'000);
// What result.json keeps of the trials, read again; `space` is that of the architectures.
SearchTrace trace_of(const Json& trials, const std::string& space);

}  // namespace nascent
