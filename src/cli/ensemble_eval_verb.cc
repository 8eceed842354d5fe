// nascent ensemble eval: figures of trained ensembles.
#include "nascent/cli/ensemble_output.h"
#include "nascent/cli/verb.h"
#include "nascent/ensemble/ensemble_evaluation.h"

namespace nascent {
namespace {

class EnsembleEvalVerb : public Verb {
 public:
  std::string arguments() const override { return "RUN|MODEL..."; }
  void declare(OptionTable& table) override { options_.declare(table); }

  Json run(const Invocation& invocation) override {
    Json result = evaluate_ensembles(invocation.arguments, options_);
    if (result.contains("trials")) {
      print_trials(invocation, result.at("mean"));
    } else {
      print_figures(invocation, result.at("figures"));
    }
    return result;
  }

 private:
  EnsembleEvaluationOptions options_;
};

NASCENT_REGISTER(Verb, "ensemble eval", "figures of a trained ensemble, or of models taken together",
                 [] { return std::make_unique<EnsembleEvalVerb>(); });

}  // namespace
}  // namespace nascent
