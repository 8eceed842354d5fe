// nascent analyze variance: measures the variance of per-image gradients at and around trained models.
#include "nascent/analysis/variance_analysis.h"
#include "nascent/cli/analysis_output.h"
#include "nascent/cli/session_start.h"
#include "nascent/cli/verb.h"

namespace nascent {
namespace {

class AnalyzeVarianceVerb : public Verb {
 public:
  std::string arguments() const override { return "MODEL..."; }
  bool resumable() const override { return true; }
  bool spreads() const override { return true; }
  void declare(OptionTable& table) override { options_.declare(table); }

  void resolve(const Invocation& invocation) override {
    options_.models.insert(options_.models.end(), invocation.arguments.begin(), invocation.arguments.end());
    options_.resolve();
  }

  Json run(const Invocation& invocation) override {
    Session session(session_start(invocation), *invocation.options, options_.run);
    Json result = analyse_variance(options_, session);
    for (const std::string& line : describe_variance(result)) invocation.print(line);
    return name_report(invocation, session, std::move(result));
  }

 private:
  VarianceAnalysisOptions options_;
};

NASCENT_REGISTER(Verb, "analyze variance", "measures the variance of per-image gradients at and around trained models",
                 [] { return std::make_unique<AnalyzeVarianceVerb>(); });

}  // namespace
}  // namespace nascent
