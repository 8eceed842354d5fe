#include "nascent/search/trace.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

namespace nascent {

const Trial* SearchTrace::incumbent_after(double seconds) const {
  const auto later = std::upper_bound(trials.begin(), trials.end(), seconds,
                                      [](double limit, const Trial& trial) { return limit < trial.seconds; });
  return later == trials.begin() ? nullptr : &trials[std::prev(later)->incumbent];
}

void SearchTrace::add(Trial trial) {
  trial.incumbent = trials.size();
  if (const Trial* best = incumbent()) {
    const bool better =
        std::tie(trial.proposal.budget, trial.accuracy) > std::tie(best->proposal.budget, best->accuracy);
    if (!better) trial.incumbent = trials.back().incumbent;
  }
  trials.push_back(std::move(trial));
}

SearchInFlight::SearchInFlight(Strategy& strategy, double seconds, size_t most, size_t in_flight, Told told)
    : strategy_(strategy), seconds_(seconds), most_(most), in_flight_(in_flight), told_(std::move(told)) {}

std::optional<std::pair<size_t, Proposal>> SearchInFlight::next() {
  if (!std::exchange(begun_, true)) propose();
  if (ended_ || proposed_.empty()) return std::nullopt;
  auto next = std::move(proposed_.front());
  proposed_.pop_front();
  return next;
}

// After every outcome that is told, and not after several: what is proposed must not depend on which came in together.
void SearchInFlight::propose() {
  while (!ended_ && out_.size() < in_flight_ && turn_ + out_.size() < most_) {
    if (!out_.empty() && !strategy_.ready()) return;
    auto proposal = strategy_.propose();
    if (!proposal) {
      ended_ = out_.empty();  // what is out may open up more
      return;
    }
    out_.push_back(*proposal);
    proposed_.emplace_back(turn_ + out_.size() - 1, std::move(*proposal));
  }
}

void SearchInFlight::outcome(size_t number, const Judgement& found) {
  waiting_[number] = found;
  while (!ended_ && !waiting_.empty() && waiting_.begin()->first == turn_) {
    const Judgement judgement = waiting_.begin()->second;
    waiting_.erase(waiting_.begin());
    const Proposal proposal = std::move(out_.front());
    out_.pop_front();
    ++turn_;
    ended_ = clock_ + judgement.seconds > seconds_;
    if (told_) told_(proposal, judgement);
    if (ended_) return;
    const double worth = std::isnan(judgement.accuracy) ? -std::numeric_limits<double>::infinity() : judgement.accuracy;
    clock_ += judgement.seconds;
    strategy_.spent(judgement.seconds);
    strategy_.tell(proposal, worth);
    trace_.add({.proposal = proposal, .accuracy = worth, .seconds = clock_});
    propose();
  }
}

SearchTrace search(Strategy& strategy, Judge& judge, double seconds, size_t most, size_t in_flight) {
  SearchInFlight flight(strategy, seconds, most, in_flight);
  std::deque<std::pair<size_t, Proposal>> out;
  while (true) {
    while (auto next = flight.next()) out.push_back(std::move(*next));
    if (out.empty()) return flight.trace();
    const auto [number, proposal] = std::move(out.front());
    out.pop_front();
    flight.outcome(number, judge.judge(proposal.genotype, proposal.budget));
    if (flight.ended()) return flight.trace();
  }
}

SearchTrace trace_of(const Json& trials, const std::string& space) {
  SearchTrace trace;
  for (const auto& trial : trials) {
    if (!trial.at("valid").is_number()) continue;  // a metric that was not finite
    trace.add({.proposal = {parse_genotype(trial.at("architecture").get<std::string>(), "", space),
                            parse_budget(trial.at("epochs").get<std::string>())},
               .accuracy = trial.at("valid").get<double>(),
               .seconds = trial.at("seconds").get<double>()});
  }
  return trace;
}

}  // namespace nascent
