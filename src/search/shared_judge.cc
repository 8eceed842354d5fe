// Judging by shared weights: an architecture as a path through the supernet of a finished one-shot search, on the
// images that the search held out.
#include <chrono>

#include "nascent/core/error.h"
#include "nascent/run/run_directory.h"
#include "nascent/search/judge.h"
#include "nascent/search/one_shot/one_shot_method.h"
#include "nascent/search/problem.h"

namespace nascent {
namespace {

// The options that the search ran with.
SearchOptions options_of_run(const std::filesystem::path& folder) {
  const RunDirectory run = RunDirectory::view(folder);
  if (run.info().value("verb", "") != "search" || run.status() != RunStatus::done) {
    fail("--supernet {}: expected a search that is done; this is a run of 'nascent {}', {}.", folder.string(),
         run.info().value("verb", ""), status_text(run.status()));
  }
  SearchOptions options;
  OptionTable table;
  options.declare(table);
  table.read_toml_file(run.options_path());
  options.resolve(folder.string());
  if (options.method != kOneShot || options.stages.wanted()) {
    fail("--supernet {}: expected one one-shot search; this is one by '{}'.", folder.string(), options.method);
  }
  return options;
}

class SharedJudge : public Judge {
 public:
  explicit SharedJudge(const Problem& problem)
      : folder_(problem.options().judging.supernet), options_(options_of_run(folder_)), problem_(options_) {
    if (problem_.space()->name() != problem.space()->name()) {
      fail("--supernet {}: its space is '{}', this search's is '{}'.", folder_, problem_.space()->name(),
           problem.space()->name());
    }
    if (problem_.images().split().valid.empty()) {
      fail("--supernet {}: it was trained on all images, so that none are left to judge by.", folder_);
    }
    searcher_ = make_one_shot_search(problem_);
    restore(*searcher_, folder_);
  }

  Judgement judge_anew(const Genotype& genotype, const Budget&) override {
    const auto start = std::chrono::steady_clock::now();
    const double accuracy = searcher_->shared_accuracy(genotype);
    return {accuracy, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count()};
  }

 private:
  std::string folder_;
  SearchOptions options_;
  Problem problem_;
  std::unique_ptr<OneShotSearch> searcher_;
};

std::unique_ptr<Judge> make_shared_judge(const Problem& problem) {
  if (problem.options().judging.supernet.empty()) {
    fail("--judge shared: --supernet RUN, the folder of a finished one-shot search, is missing.");
  }
  return std::make_unique<SharedJudge>(problem);
}

NASCENT_REGISTER(Judge, "shared",
                 "evaluates each architecture with the weights of a finished supernet (--supernet RUN)",
                 make_shared_judge);

}  // namespace
}  // namespace nascent
