// nascent analyze trajectory: draws a training trajectory in its two principal directions.
#include "nascent/analysis/trajectory_analysis.h"
#include "nascent/cli/analysis_output.h"
#include "nascent/cli/session_start.h"
#include "nascent/cli/verb.h"

namespace nascent {
namespace {

class AnalyzeTrajectoryVerb : public Verb {
 public:
  std::string arguments() const override { return "RUN | MODEL..."; }
  bool resumable() const override { return true; }
  void declare(OptionTable& table) override { options_.declare(table); }

  void resolve(const Invocation& invocation) override {
    options_.models.insert(options_.models.end(), invocation.arguments.begin(), invocation.arguments.end());
    options_.resolve();
  }

  Json run(const Invocation& invocation) override {
    Session session(session_start(invocation), *invocation.options, options_.run);
    Json result = analyse_trajectory(options_, session);
    for (const std::string& line : describe_trajectory(result)) invocation.print(line);
    return name_report(invocation, session, std::move(result));
  }

 private:
  TrajectoryAnalysisOptions options_;
};

NASCENT_REGISTER(Verb, "analyze trajectory", "draws a training trajectory in its two principal directions",
                 [] { return std::make_unique<AnalyzeTrajectoryVerb>(); });

}  // namespace
}  // namespace nascent
