// nascent report: writes a run's report anew.
#include "nascent/cli/verb.h"
#include "nascent/run/report.h"
#include "nascent/run/run_directory.h"

namespace nascent {
namespace {

class ReportVerb : public Verb {
 public:
  std::string arguments() const override { return "RUN"; }
  void declare(OptionTable&) override {}

  Json run(const Invocation& invocation) override {
    const auto run = RunDirectory::view(invocation.argument("run folder"));
    write_report(run);
    invocation.print(fmt::format("Report: {}", run.report_path().string()));
    return {{"report", run.report_path().string()}, {"status", status_text(run.status())}};
  }
};

NASCENT_REGISTER(Verb, "report", "writes the report of a run anew, finished or not",
                 [] { return std::make_unique<ReportVerb>(); });

}  // namespace
}  // namespace nascent
