#include "nascent/search/black_box/black_box_method.h"

#include <cmath>
#include <limits>
#include <map>

#include "nascent/core/error.h"
#include "nascent/core/interrupt.h"
#include "nascent/core/log.h"
#include "nascent/core/text.h"
#include "nascent/score/score_cache.h"
#include "nascent/search/pool.h"

namespace nascent {
namespace {

using Asked = std::pair<std::string, Budget>;

// A judge whose answers are events of the run: those of an earlier process are given again.
class RememberedJudge : public Judge {
 public:
  RememberedJudge(Judge& judge, EventStore& events) : judge_(judge), events_(events) {
    for (const Event& event : events.events("judgement")) {
      const Json& values = event.values;
      known_[{values.at("architecture").get<std::string>(), parse_budget(values.at("epochs").get<std::string>())}] = {
          values.at("valid_top1").get<double>(), values.at("seconds").get<double>()};
    }
    asked_ = static_cast<int64_t>(known_.size());
  }

  Judgement judge(const Genotype& genotype, const Budget& budget) override {
    const Asked asked{ScoreCache::key(genotype), budget};
    if (const auto known = known_.find(asked); known != known_.end()) return known->second;
    if (interrupt_requested()) throw Interrupted();
    const Judgement found = judge_.judge(genotype, budget);
    if (!std::isfinite(found.accuracy)) return found;  // JSON has no word for it
    events_.emit({"judgement",
                  asked_,
                  asked_ + 1,
                  {{"valid_top1", found.accuracy},
                   {"seconds", found.seconds},
                   {"epochs", budget.text()},
                   {"architecture", asked.first}}});
    ++asked_;
    return known_[asked] = found;
  }

 private:
  Judge& judge_;
  EventStore& events_;
  std::map<Asked, Judgement> known_;
  int64_t asked_ = 0;
};

// Keeps what a strategy proposes as events of the run, so that a resumed one can begin with the same.
class RecordedStrategy : public Strategy {
 public:
  RecordedStrategy(std::unique_ptr<Strategy> strategy, EventStore& events, size_t recorded)
      : strategy_(std::move(strategy)), events_(events), recorded_(recorded) {}

  static std::vector<Proposal> proposed(const EventStore& events, const std::string& space) {
    std::vector<Proposal> proposals;
    for (const Event& event : events.events(kKind)) {
      proposals.push_back({parse_genotype(event.values.at("architecture").get<std::string>(), "", space),
                           parse_budget(event.values.at("epochs").get<std::string>())});
    }
    return proposals;
  }

  std::optional<Proposal> propose() override {
    const auto proposal = strategy_->propose();
    if (!proposal) return proposal;
    if (count_++ >= recorded_) {
      const auto number = static_cast<int64_t>(count_);
      events_.emit({kKind,
                    number - 1,
                    number,
                    {{"epochs", proposal->budget.text()}, {"architecture", ScoreCache::key(proposal->genotype)}}});
    }
    return proposal;
  }
  void tell(const Proposal& proposal, double accuracy) override { strategy_->tell(proposal, accuracy); }

 private:
  static constexpr const char* kKind = "proposal";

  std::unique_ptr<Strategy> strategy_;
  EventStore& events_;
  size_t recorded_, count_ = 0;
};

StrategySetting strategy_setting(const Problem& problem, const std::string& pool, const Judge& judge) {
  StrategyOptions options = problem.options().strategy;
  options.metrics = pool;
  return {.space = problem.space(),
          .budget = judge.budget(),
          .fidelities = judge.fidelities(),
          .options = options,
          .seed = problem.seed()};
}

std::unique_ptr<Strategy> make_strategy(const std::string& name, StrategySetting setting, Session& session) {
  const auto& strategies = Strategy::Registry::instance();
  if (strategies.at(name).facts.reproducible) return strategies.make(name, setting);
  setting.proposed = RecordedStrategy::proposed(session.events(), setting.space->name());
  if (!session.start().part) {
    setting.resume = fmt::format("nascent {} --resume {}", session.start().verb, session.directory().path().string());
  }
  return std::make_unique<RecordedStrategy>(strategies.make(name, setting), session.events(), setting.proposed.size());
}

// A strategy is only itself where it has the budgets it was made for; people should know which.
void mention_fidelities(const std::string& strategy, const Judge& judge) {
  if (!Strategy::Registry::instance().at(strategy).facts.several_budgets) return;
  std::vector<std::string> budgets;
  for (const Budget& budget : judge.fidelities()) budgets.push_back(budget.text());
  const std::string all = join(budgets, ", ");
  log::info("{}: validations after {} epoch{}.", strategy, all, all == "1" ? "" : "s");
}

class BlackBoxMethod : public Method {
 public:
  BlackBoxMethod(const Problem& problem, std::string strategy)
      : problem_(problem),
        strategy_(std::move(strategy)),
        judge_(Judge::Registry::instance().make(problem.options().judge, problem)) {
    // What is wrong is refused before there is a run.
    if (Strategy::Registry::instance().at(strategy_).facts.pool) {
      pool_.emplace(problem, problem.options().strategy.metric);
    } else {
      Strategy::Registry::instance().make(strategy_, strategy_setting(problem_, "", *judge_));
    }
  }

  RunFacts facts() const override { return {{"Judge", problem_.options().judge}}; }

  Found run(Session& session) override {
    mention_fidelities(strategy_, *judge_);
    const std::string pool = pool_ ? pool_->file(session.directory().path()) : "";
    const SearchTrace trace = judged_search(problem_, strategy_, pool, *judge_, session);
    Found found{.genotype = trace.incumbent()->proposal.genotype, .facts = trace_facts(trace)};
    if (Judge::Registry::instance().at(problem_.options().judge).facts.accuracy) {
      found.valid_top1 = trace.incumbent()->accuracy;
    }
    return found;
  }

 private:
  const Problem& problem_;
  std::string strategy_;
  std::unique_ptr<Judge> judge_;
  std::optional<Pool> pool_;
};

}  // namespace

MethodFacts black_box_facts(const std::string& strategy) {
  const StrategyFacts& facts = Strategy::Registry::instance().at(strategy).facts;
  return {.judges = {"training", "table", "shared", "metric"},
          .pool = facts.pool,
          .recipe = facts.recipe,
          .sections = {"strategy", "judge", "train", "score", "pool"}};
}

std::unique_ptr<Method> make_black_box_method(const Problem& problem, const std::string& strategy) {
  return std::make_unique<BlackBoxMethod>(problem, strategy);
}

SearchTrace judged_search(const Problem& problem, const std::string& strategy, const std::string& pool, Judge& judge,
                          Session& session) {
  const JudgeOptions& options = problem.options().judging;
  const double seconds = options.budget > 0 ? options.budget : std::numeric_limits<double>::infinity();
  const size_t most = options.validations > 0 ? static_cast<size_t>(options.validations) : 1'000'000;
  RememberedJudge remembered(judge, session.events());
  const auto proposing = make_strategy(strategy, strategy_setting(problem, pool, judge), session);
  SearchTrace trace = search(*proposing, remembered, seconds, most);
  if (trace.trials.empty()) {
    if (options.budget > 0) fail("No validation ends within {} s; give a larger --budget.", options.budget);
    fail("The strategy '{}' found nothing to validate.", strategy);
  }
  return trace;
}

Json trace_facts(const SearchTrace& trace) {
  Json trials = Json::array();
  for (const Trial& trial : trace.trials) {
    trials.push_back({{"seconds", trial.seconds},
                      {"epochs", trial.proposal.budget.text()},
                      {"valid", trial.accuracy},
                      {"architecture", ScoreCache::key(trial.proposal.genotype)}});
  }
  return {{"validations", trace.trials.size()},
          {"validation_seconds", trace.trials.back().seconds},
          {"trials", std::move(trials)}};
}

}  // namespace nascent
