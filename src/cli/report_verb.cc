// nascent report: writes a run's report anew.
#include <unistd.h>

#include <filesystem>

#include "nascent/cli/verb.h"
#include "nascent/core/files.h"
#include "nascent/core/log.h"
#include "nascent/run/headline.h"
#include "nascent/run/report.h"
#include "nascent/run/run_directory.h"

namespace nascent {
namespace {

// Where the report goes: into the run, or beside us where the run may only be read.
std::filesystem::path place_of_report(const RunDirectory& run) {
  if (::access(run.path().c_str(), W_OK) == 0) return run.report_path();
  log::info("{} may only be read, so its report goes into this folder.", run.path().string());
  return run_title(run) + "-report.html";
}

class ReportVerb : public Verb {
 public:
  std::string arguments() const override { return "RUN"; }
  void declare(OptionTable& table) override {
    table.section("report", "The page of a run.")
        .add("out", out_, "file to write; empty: report.html in the run, or here where the run may only be read");
  }

  Json run(const Invocation& invocation) override {
    const auto run = RunDirectory::view(invocation.argument("run folder"));
    const std::filesystem::path place = out_.empty() ? place_of_report(run) : std::filesystem::path(out_);
    write_file(place, report_page(run));
    invocation.print(fmt::format("Report: {}", place.string()));
    return {{"report", place.string()}, {"status", status_text(run.status())}};
  }

 private:
  std::string out_;
};

NASCENT_REGISTER(Verb, "report", "writes the report of a run anew, finished or not",
                 [] { return std::make_unique<ReportVerb>(); });

}  // namespace
}  // namespace nascent
