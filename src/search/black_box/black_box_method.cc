#include "nascent/search/black_box/black_box_method.h"

#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "nascent/cluster/farm.h"
#include "nascent/cluster/ranks.h"
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

  Judgement judge_anew(const Genotype& genotype, const Budget& budget) override {
    if (interrupt_requested()) throw Interrupted();
    return judge_.judge_anew(genotype, budget);
  }

  std::optional<Judgement> recall(const Genotype& genotype, const Budget& budget) override {
    const auto known = known_.find({ScoreCache::key(genotype), budget});
    return known != known_.end() ? known->second : judge_.recall(genotype, budget);
  }

  // Makes it an event of the run, unless it is one.
  void remember(const Genotype& genotype, const Budget& budget, const Judgement& found) override {
    const Asked asked{ScoreCache::key(genotype), budget};
    if (known_.contains(asked)) return;
    judge_.remember(genotype, budget, found);
    if (!std::isfinite(found.accuracy)) return;  // JSON has no word for what is not finite
    events_.emit({"judgement",
                  asked_,
                  asked_ + 1,
                  {{"valid_top1", found.accuracy},
                   {"seconds", found.seconds},
                   {"epochs", budget.text()},
                   {"architecture", asked.first}}});
    ++asked_;
    known_[asked] = found;
  }

  void keep_ahead(const Genotype& genotype, const Budget& budget, const Judgement& found) override {
    judge_.keep_ahead(genotype, budget, found);
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
  void spent(double seconds) override { strategy_->spent(seconds); }
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

// What a piece of judging is, and what comes of it.
std::string text_of_proposal(const Proposal& proposal) {
  return Json{{"architecture", to_text(proposal.genotype, "json")}, {"epochs", proposal.budget.text()}}.dump();
}

Judgement parse_judgement(const std::string& text) {
  const auto fields = split(text, ' ');
  return {std::strtod(fields.at(0).c_str(), nullptr), std::strtod(fields.at(1).c_str(), nullptr)};
}

class JudgePieces : public cluster::Helper {
 public:
  JudgePieces(const Problem& problem, Judge& judge) : problem_(problem), judge_(judge) {}

  std::string digest() const override {
    return problem_.has_images() ? std::to_string(problem_.images().digest()) : "no images";
  }
  std::string piece(const cluster::Work& work) override {
    const Json proposal = Json::parse(work.text);
    const Genotype genotype =
        parse_genotype(proposal.at("architecture").get<std::string>(), "json", problem_.space()->name());
    const Judgement found = judge_.judge_anew(genotype, parse_budget(proposal.at("epochs").get<std::string>()));
    return fmt::format("{} {}", found.accuracy, found.seconds);
  }

 private:
  const Problem& problem_;
  Judge& judge_;
};

// Judges on another rank; only rank 0 remembers.
class JudgeHelper : public cluster::Helper {
 public:
  explicit JudgeHelper(const Json& opening)
      : options_(options_from(opening)),
        problem_(options_),
        judge_(Judge::Registry::instance().make(options_.judge, problem_)),
        pieces_(problem_, *judge_) {}

  std::string digest() const override { return pieces_.digest(); }
  std::string piece(const cluster::Work& work) override { return pieces_.piece(work); }

 private:
  static SearchOptions options_from(const Json& opening) {
    SearchOptions options;
    OptionTable table;
    options.declare(table);
    table.read_toml(opening.at("options").get<std::string>(), "rank 0");
    options.score.cache = "none";
    options.resolve();
    options.run.apply();
    return options;
  }

  SearchOptions options_;
  Problem problem_;
  std::unique_ptr<Judge> judge_;
  JudgePieces pieces_;
};

NASCENT_REGISTER(cluster::Helper, "judge", "judgements of architectures",
                 [](const Json& opening) { return std::make_unique<JudgeHelper>(opening); });

// A search whose judgements are made by all ranks.
class SpreadSearch {
 public:
  SpreadSearch(const Problem& problem, Strategy& strategy, Judge& judge, RememberedJudge& remembered, double seconds,
               size_t most, const std::string& log)
      : remembered_(remembered),
        flight_(strategy, seconds, most, static_cast<size_t>(problem.options().judging.in_flight),
                [this](const Proposal& proposal, const Judgement& found) {
                  remembered_.remember(proposal.genotype, proposal.budget, found);
                }),
        pieces_(problem, judge),
        farm_(
            "judge", opening_of(problem.options()), pieces_,
            [this](int64_t piece, const std::string& result) { arrived(static_cast<size_t>(piece), result); }, log) {}

  SearchTrace run() {
    propose();
    farm_.run();
    return flight_.trace();
  }

 private:
  static Asked asked_of(const Proposal& proposal) { return {ScoreCache::key(proposal.genotype), proposal.budget}; }

  static Json opening_of(SearchOptions options) {
    OptionTable table;
    options.declare(table);
    return {{"options", table.to_toml()}};
  }

  // What is known is told at once, what is under way is waited for, and the rest is work.
  void propose() {
    while (const auto next = flight_.next()) {
      const auto& [number, proposal] = *next;
      const Asked asked = asked_of(proposal);
      if (const auto known = remembered_.recall(proposal.genotype, proposal.budget)) {
        flight_.outcome(number, *known);
        continue;
      }
      std::vector<size_t>& waiting = waiting_[asked];
      waiting.push_back(number);
      if (waiting.size() > 1) continue;
      work_.push_back(proposal);
      farm_.add({text_of_proposal(proposal)});
    }
  }

  void arrived(size_t piece, const std::string& result) {
    const Proposal proposal = work_[piece];
    const Judgement found = parse_judgement(result);
    const auto numbers = std::exchange(waiting_[asked_of(proposal)], {});
    if (!flight_.is_turn_of(numbers.front())) remembered_.keep_ahead(proposal.genotype, proposal.budget, found);
    for (const size_t number : numbers) flight_.outcome(number, found);
    propose();
  }

  RememberedJudge& remembered_;
  SearchInFlight flight_;
  JudgePieces pieces_;
  cluster::Farm farm_;
  std::vector<Proposal> work_;                    // by piece
  std::map<Asked, std::vector<size_t>> waiting_;  // numbers of proposals by what is asked for them
};

// What cannot be done as the options want it is refused.
void check_in_flight(const SearchOptions& options, const std::string& strategy) {
  const int in_flight = options.judging.in_flight;
  if (in_flight > 1 && Strategy::Registry::instance().at(strategy).facts.sequential) {
    fail("{} proposes an architecture only when it knows how good those before it are; leave --in-flight out.",
         strategy);
  }
}

void check_ranks_for_judging(const SearchOptions& options) {
  if (cluster::size() == 1) return;
  if (!Judge::Registry::instance().at(options.judge).facts.spreads) {
    fail("Judging by '{}' takes no time worth spreading over {} processes. Start the search without mpirun or srun.",
         options.judge, cluster::size());
  }
  cluster::require_work(options.judging.in_flight, "proposals judged at once (--in-flight)");
}

class BlackBoxMethod : public Method {
 public:
  BlackBoxMethod(const Problem& problem, std::string strategy)
      : problem_(problem),
        strategy_(std::move(strategy)),
        judge_(Judge::Registry::instance().make(problem.options().judge, problem)) {
    // What is wrong is refused before there is a run.
    check_in_flight(problem.options(), strategy_);
    if (Strategy::Registry::instance().at(strategy_).facts.pool) {
      pool_.emplace(problem, problem.options().strategy.metric);
    } else {
      Strategy::Registry::instance().make(strategy_, strategy_setting(problem_, "", *judge_));
    }
  }

  RunFacts facts() const override { return {{"Judge", problem_.options().judge}}; }
  void check_ranks() const override { check_ranks_for_judging(problem_.options()); }

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
  const bool spread = cluster::size() > 1 && !session.start().part;  // a part has one rank
  SearchTrace trace = spread ? SpreadSearch(problem, *proposing, judge, remembered, seconds, most,
                                            session.directory().path().string() + "/")
                                   .run()
                             : search(*proposing, remembered, seconds, most, static_cast<size_t>(options.in_flight));
  if (trace.trials.empty()) {
    if (options.budget > 0) fail("No validation ends within {} s; give a larger --budget.", options.budget);
    fail("The strategy '{}' found nothing to validate.", strategy);
  }
  return trace;
}

Json trace_facts(const SearchTrace& trace) {
  Json trials = Json::array();
  for (const Trial& trial : trace.trials) {
    Json facts = {{"seconds", trial.seconds},
                  {"epochs", trial.proposal.budget.text()},
                  {"valid", trial.accuracy},
                  {"architecture", ScoreCache::key(trial.proposal.genotype)}};
    if (!trial.proposal.named_by.is_null()) facts.update(trial.proposal.named_by);
    trials.push_back(std::move(facts));
  }
  return {{"validations", trace.trials.size()},
          {"validation_seconds", trace.trials.back().seconds},
          {"trials", std::move(trials)}};
}

}  // namespace nascent
