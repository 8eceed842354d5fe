#include "nascent/search/training_judge.h"

#include <chrono>

#include "nascent/core/error.h"
#include "nascent/core/files.h"
#include "nascent/core/log.h"
#include "nascent/search/problem.h"

namespace nascent {

namespace {

// Everything that an outcome depends on, in the words of the options.
Json settings_of(TrainingJudgeSetup setup) {
  OptionTable table;
  setup.data.declare(table);
  setup.network.declare(table);
  setup.train.declare(table);
  Json settings = table.to_json();
  settings["train"].erase("epochs");  // the budget says how many
  settings["data"].erase("workers");
  settings["data"].erase("path");  // what lies there counts, not where
  const ChannelStatistics& statistics = setup.images.statistics();
  settings["images"] = {setup.images.describe(), statistics.mean, statistics.deviation};
  settings["skeleton"] = setup.space->skeleton();
  settings["seed"] = setup.seed;
  return settings;
}

}  // namespace

TrainingJudge::TrainingJudge(const TrainingJudgeSetup& setup, const std::filesystem::path& folder) : setup_(setup) {
  if (setup.images.split().valid.empty()) {
    fail(
        "Architectures are judged by images that they were not trained on, and none are set aside: give "
        "--valid-fraction, such as 0.5.");
  }
  cache_ = folder.empty() ? std::make_unique<ScoreCache>()
                          : std::make_unique<ScoreCache>(folder, setup.space->name(), settings_of(setup));
}

namespace {
std::string accuracy_name(const Budget& budget) { return "valid" + budget.text(); }
std::string seconds_name(const Budget& budget) { return "seconds" + budget.text(); }

std::optional<Judgement> judgement_in(const Scores& outcome, const Budget& budget) {
  if (!outcome.contains(accuracy_name(budget))) return std::nullopt;
  return Judgement{outcome.at(accuracy_name(budget)), outcome.at(seconds_name(budget))};
}

Scores outcome_of(const Judgement& found, const Budget& budget) {
  return {{accuracy_name(budget), found.accuracy}, {seconds_name(budget), found.seconds}};
}
}  // namespace

std::optional<Judgement> TrainingJudge::recall(const Genotype& genotype, const Budget& budget) {
  const auto found = judgement_in(cache_->find(genotype), budget);
  if (!found) return judgement_in(cache_->find_ahead(genotype), budget);
  say(genotype, budget, *found, true);
  return found;
}

Judgement TrainingJudge::judge_anew(const Genotype& genotype, const Budget& budget) {
  const auto start = std::chrono::steady_clock::now();
  Judgement found{.accuracy = trained_accuracy(genotype, budget)};
  found.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return found;
}

void TrainingJudge::remember(const Genotype& genotype, const Budget& budget, const Judgement& found) {
  const Scores known = cache_->find(genotype);
  if (judgement_in(known, budget)) return;
  Scores outcome = outcome_of(found, budget);
  outcome.insert(known.begin(), known.end());  // after other budgets
  cache_->add(genotype, outcome);
  say(genotype, budget, found, false);
}

void TrainingJudge::keep_ahead(const Genotype& genotype, const Budget& budget, const Judgement& found) {
  cache_->keep_ahead(genotype, outcome_of(found, budget));
}

void TrainingJudge::say(const Genotype& genotype, const Budget& budget, const Judgement& found, bool known) const {
  log::info("{:6.2f} % after {} epochs, {:.0f} s{}: {}", found.accuracy, budget.text(), found.seconds,
            known ? ", known before" : "", ScoreCache::key(genotype));
}

double TrainingJudge::trained_accuracy(const Genotype& genotype, const Budget& budget) const {
  const ImageData& images = setup_.images;
  const NetworkPlan plan = plan_network(*setup_.space, genotype, setup_.network, images.shape(), images.classes());
  TrainOptions train = setup_.train;
  train.epochs = budget.epochs;
  Trainer trainer(std::make_shared<Network>(plan, setup_.seed), images.training(images.split().train, "train"),
                  images.evaluation(images.split().valid), train, setup_.network.drop_path, setup_.seed);
  run_job(trainer, {});
  return trainer.last().top1;
}

std::vector<Budget> TrainingJudge::fidelities() const {
  std::vector<Budget> budgets;
  for (const int part : {9, 3, 1}) {
    if (setup_.epochs / part > 0) budgets.emplace_back(setup_.epochs / part);
  }
  return budgets;
}

namespace {

std::unique_ptr<Judge> make_training_judge(const Problem& problem) {
  const SearchOptions& options = problem.options();
  const std::string& cache = options.score.cache;
  const auto folder = cache == "none" ? std::filesystem::path()
                      : cache.empty() ? cache_directory() / "validations"
                                      : std::filesystem::path(cache);
  return std::make_unique<TrainingJudge>(TrainingJudgeSetup{.space = problem.space(),
                                                            .data = options.data,
                                                            .images = problem.images(),
                                                            .network = options.network,
                                                            .train = options.train,
                                                            .epochs = options.judging.epochs,
                                                            .seed = problem.seed()},
                                         folder);
}

NASCENT_REGISTER(Judge, "training", "trains each architecture from scratch for --judge-epochs", make_training_judge,
                 JudgeFacts{.spreads = true});

}  // namespace
}  // namespace nascent
