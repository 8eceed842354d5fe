#include "nascent/search/one_shot/one_shot_method.h"

#include "nascent/core/error.h"
#include "nascent/core/log.h"
#include "nascent/core/text.h"
#include "nascent/nn/engine.h"
#include "nascent/run/run_directory.h"
#include "nascent/search/method.h"
#include "nascent/search/one_shot/method_check.h"

namespace nascent {
namespace {

std::unique_ptr<Loader> loader(const ImageData& data, SearchData part) {
  const Split& split = data.split();
  switch (part) {
    case SearchData::train:
      return data.training(split.train, "search");
    case SearchData::train_again:
      return data.training(split.train, "architecture");
    case SearchData::held_out:
      return data.training(split.valid, "architecture");
    case SearchData::judge:
      return split.valid.empty() ? nullptr : data.evaluation(split.valid);
    case SearchData::judge_train:
      break;
  }
  return data.evaluation(split.train);
}

NetworkPlan supernet_plan(const Problem& problem) {
  const ImageData& data = problem.images();
  return plan_supernet(*problem.space(), problem.options().network, data.shape(), data.classes());
}

// Before the supernet is built: one that does not fit must not take the memory that would be needed to say so.
std::string checked_memory(const Problem& problem, const NetworkPlan& plan) {
  const SearchOptions& options = problem.options();
  check_method(options.one_shot, *problem.space());
  check_shards(options.one_shot.shards, options.data.batch, /*alone=*/true);  // ranks: check_ranks()
  const auto relaxation = Relaxation::Registry::instance().make(
      options.one_shot.relaxation.relaxation,
      RelaxationSetup{*problem.space(), options.one_shot.relaxation, problem.seed()});
  const EngineScope scope(needs_plain_operations(options.one_shot) ? Engine::reference : engine());
  return options.run.check_memory(plan, options.data.batch / options.one_shot.shards, relaxation->candidates_at_once());
}

constexpr const char* kCompanion = "one-shot search";

class SearchCompanion : public cluster::Companion {
 public:
  explicit SearchCompanion(const Json& opening) : options_(options_from<SearchOptions>(opening)), problem_(options_) {
    checked_memory(problem_, supernet_plan(problem_));
    searcher_ = make_one_shot_search(problem_);
  }
  std::string digest() const override { return std::to_string(problem_.images().digest()); }
  void follow(cluster::Team& team) override { nascent::follow(*searcher_, team); }

 private:
  SearchOptions options_;
  Problem problem_;
  std::unique_ptr<OneShotSearch> searcher_;
};

NASCENT_REGISTER(cluster::Companion, kCompanion, "a search by weight sharing",
                 [](const Json& opening) { return std::make_unique<SearchCompanion>(opening); });

class OneShotMethod : public Method {
 public:
  explicit OneShotMethod(const Problem& problem)
      : problem_(problem),
        plan_(supernet_plan(problem)),
        memory_(checked_memory(problem, plan_)),
        searcher_(make_one_shot_search(problem)) {}

  RunFacts facts() const override { return {{"Relaxation", problem_.options().one_shot.relaxation.relaxation}}; }

  void check_ranks() const override { check_shards(problem_.options().one_shot.shards, problem_.options().data.batch); }

  Found run(Session& session) override {
    log::info("Supernet: {} parameters, {} multiply-adds per image, about {} of memory a step; {}",
              engineering(count_parameters(plan_)), engineering(count_multiply_adds(plan_)), memory_,
              searcher_->describe_data());
    run_shared(*searcher_, *searcher_,
               opening_with(kCompanion, problem_.options(), problem_.images().digest(), session), session.start().part,
               [&](Job& job) { session.run(job); });
    Found found{.genotype = searcher_->genotype(), .facts = {{"entropy", mean_entropy(searcher_->probabilities())}}};
    // With the supernet's weights: no accuracy that those of trained networks could be compared with.
    if (!problem_.images().split().valid.empty()) {
      found.facts["shared_top1"] = searcher_->shared_accuracy(found.genotype);
    }
    if (const std::string collapse = searcher_->collapse(); !collapse.empty()) found.facts["collapse"] = collapse;
    return found;
  }

 private:
  const Problem& problem_;
  NetworkPlan plan_;
  std::string memory_;
  std::unique_ptr<OneShotSearch> searcher_;
};

NASCENT_REGISTER(
    Method, kOneShot, "weight sharing: a supernet and the architecture's parameters are trained together",
    [](const Problem& problem) { return std::make_unique<OneShotMethod>(problem); },
    MethodFacts{.recipe = "darts-1st", .sections = {"search", "architecture", "weights"}});

}  // namespace

std::unique_ptr<OneShotSearch> make_one_shot_search(const Problem& problem) {
  const ImageData& data = problem.images();
  OneShotOptions options = problem.options().one_shot;
  check_shards(options.shards, problem.options().data.batch, /*alone=*/true);
  options.drop_path = problem.options().network.drop_path;
  return std::make_unique<OneShotSearch>(
      problem.space(), std::make_shared<Network>(supernet_plan(problem), problem.seed()),
      [&data](SearchData part) { return loader(data, part); }, options, problem.seed());
}

void restore(OneShotSearch& searcher, const std::filesystem::path& folder) {
  CheckpointStore checkpoints(RunDirectory::view(folder).checkpoints_path());
  if (checkpoints.empty()) fail("{} has no checkpoint to take the supernet from.", folder.string());
  run_job(searcher, {.checkpoints = &checkpoints, .resume = true});  // it is done, so that it is only loaded
}

}  // namespace nascent
