// nascent ensemble eval: figures of trained ensembles.
#include "nascent/cli/ensemble_output.h"
#include "nascent/cli/session_start.h"
#include "nascent/cli/verb.h"
#include "nascent/ensemble/ensemble_evaluation.h"

namespace nascent {
namespace {

class EnsembleEvalVerb : public Verb {
 public:
  std::string arguments() const override { return "RUN|MODEL..."; }
  void declare(OptionTable& table) override { options_.declare(table); }
  void resolve(const Invocation& invocation) override {
    options_.models.insert(options_.models.end(), invocation.arguments.begin(), invocation.arguments.end());
  }

  Json run(const Invocation& invocation) override {
    if (options_.run.out.empty()) {
      const Json result = evaluate_ensembles(options_);
      print(invocation, result);
      return result;
    }
    Session session(session_start(invocation), *invocation.options, options_.run);
    Json result = evaluate_ensembles(options_, session);
    print(invocation, result);
    const RunDirectory& run = session.directory();
    invocation.print(fmt::format("Figures: {}", (run.path() / "figures").string()));
    invocation.print(fmt::format("Report:  {}", run.report_path().string()));
    result.update({{"directory", run.path().string()}, {"report", run.report_path().string()}});
    return result;
  }

 private:
  static void print(const Invocation& invocation, const Json& result) {
    if (result.contains("trials")) return print_trials(invocation, result.at("mean"));
    print_figures(invocation, result.at("figures"));
    print_evaluation(invocation, result);
  }

  EnsembleEvaluationOptions options_;
};

NASCENT_REGISTER(Verb, "ensemble eval", "evaluates a trained ensemble, or several models combined",
                 [] { return std::make_unique<EnsembleEvalVerb>(); });

}  // namespace
}  // namespace nascent
