// nascent analyze landscape: the loss around trained models, over planes of weights, and its curvature.
#include "nascent/analysis/landscape_analysis.h"
#include "nascent/cli/analysis_output.h"
#include "nascent/cli/session_start.h"
#include "nascent/cli/verb.h"

namespace nascent {
namespace {

class AnalyzeLandscapeVerb : public Verb {
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
    Json result = analyse_landscape(options_, session);
    for (const std::string& line : describe_landscape(result)) invocation.print(line);
    return name_report(invocation, session, std::move(result));
  }

 private:
  LandscapeAnalysisOptions options_;
};

NASCENT_REGISTER(Verb, "analyze landscape", "draws the loss landscape around trained models",
                 [] { return std::make_unique<AnalyzeLandscapeVerb>(); });

}  // namespace
}  // namespace nascent
