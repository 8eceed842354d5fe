// The best of a pool by a training-free metric (NASWOT); with a judge, the best by that of the first few (KNAS).
#include "nascent/search/black_box/black_box_method.h"
#include "nascent/search/pool.h"

namespace nascent {
namespace {

class MaximiseMethod : public Method {
 public:
  explicit MaximiseMethod(const Problem& problem)
      : problem_(problem), pool_(problem, problem.options().strategy.metric) {
    const std::string& judge = problem.options().judge;
    if (!judge.empty()) judge_ = Judge::Registry::instance().make(judge, problem);
  }

  RunFacts facts() const override { return {{"Metric", problem_.options().strategy.metric}}; }

  Found run(Session& session) override {
    if (!judge_) return {.genotype = pool_.best()};
    const std::string file = pool_.file(session.directory().path());
    const SearchTrace trace = judged_search(problem_, "zero-cost", file, *judge_, session);
    Found found{.genotype = trace.incumbent()->proposal.genotype, .facts = trace_facts(trace)};
    if (Judge::Registry::instance().at(problem_.options().judge).facts.accuracy) {
      found.valid_top1 = trace.incumbent()->accuracy;
    }
    return found;
  }

 private:
  const Problem& problem_;
  Pool pool_;
  std::unique_ptr<Judge> judge_;  // null: the metric alone
};

NASCENT_REGISTER(
    Method, "maximise", "at initialisation: the best of a pool by a metric, or with a judge the best of its first few",
    [](const Problem& problem) { return std::make_unique<MaximiseMethod>(problem); },
    MethodFacts{.judges = {"", "training", "table", "shared"},
                .pool = true,
                .recipe = "naswot",
                .sections = {"strategy", "judge", "train", "score", "pool"}});

}  // namespace
}  // namespace nascent
