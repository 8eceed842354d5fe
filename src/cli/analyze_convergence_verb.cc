// nascent analyze convergence, nascent analyze generalisation: a cell and its variants trained side by side.
#include "nascent/analysis/trained_variants_analysis.h"
#include "nascent/cli/analysis_output.h"
#include "nascent/cli/session_start.h"
#include "nascent/cli/verb.h"

namespace nascent {
namespace {

class TrainedVariantsVerb : public Verb {
 public:
  explicit TrainedVariantsVerb(VariantsQuestion question) : question_(question), options_(usual_options(question)) {}
  std::string arguments() const override { return "GENOTYPE..."; }
  bool resumable() const override { return true; }
  bool scalable() const override { return true; }
  bool spreads() const override { return true; }
  ScaleLimits scale_limits() const override { return options_.training.scale_limits(); }
  void declare(OptionTable& table) override {
    options_.declare(table, question_ == VariantsQuestion::convergence ? "convergence" : "generalisation");
  }

  void resolve(const Invocation& invocation) override {
    options_.genotypes.insert(options_.genotypes.end(), invocation.arguments.begin(), invocation.arguments.end());
    options_.check();
    options_.training.genotype = options_.genotypes.front();
    options_.training.resolve(invocation.resume);
  }

  Json run(const Invocation& invocation) override {
    Session session(session_start(invocation), *invocation.options, options_.training.run);
    Json result = analyse_trained_variants(options_, question_, session);
    for (const std::string& line : describe_trained_variants(result, options_.accuracy)) invocation.print(line);
    return name_report(invocation, session, std::move(result));
  }

 private:
  VariantsQuestion question_;
  TrainedVariantsOptions options_;
};

NASCENT_REGISTER(Verb, "analyze convergence", "trains a cell and its variants and compares how fast they converge",
                 [] { return std::make_unique<TrainedVariantsVerb>(VariantsQuestion::convergence); });
NASCENT_REGISTER(Verb, "analyze generalisation", "trains a cell and its variants and compares their final accuracy",
                 [] { return std::make_unique<TrainedVariantsVerb>(VariantsQuestion::generalisation); });

}  // namespace
}  // namespace nascent
