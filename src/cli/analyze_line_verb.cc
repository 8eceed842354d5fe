// nascent analyze line: the loss on the straight line between two trained models.
#include "nascent/analysis/line_analysis.h"
#include "nascent/cli/analysis_output.h"
#include "nascent/cli/session_start.h"
#include "nascent/cli/verb.h"

namespace nascent {
namespace {

class AnalyzeLineVerb : public Verb {
 public:
  std::string arguments() const override { return "MODEL MODEL"; }
  bool resumable() const override { return true; }
  void declare(OptionTable& table) override { options_.declare(table); }

  void resolve(const Invocation& invocation) override {
    options_.models.insert(options_.models.end(), invocation.arguments.begin(), invocation.arguments.end());
    options_.resolve();
  }

  Json run(const Invocation& invocation) override {
    Session session(session_start(invocation), *invocation.options, options_.run);
    Json result = analyse_line(options_, session);
    for (const std::string& line : describe_line(result)) invocation.print(line);
    return name_report(invocation, session, std::move(result));
  }

 private:
  LineAnalysisOptions options_;
};

NASCENT_REGISTER(Verb, "analyze line", "plots the loss along the line between two trained models",
                 [] { return std::make_unique<AnalyzeLineVerb>(); });

}  // namespace
}  // namespace nascent
