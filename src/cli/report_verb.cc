// nascent report: writes a run's report anew.
#include <unistd.h>

#include <filesystem>

#include "nascent/cli/verb.h"
#include "nascent/core/files.h"
#include "nascent/core/log.h"
#include "nascent/run/headline.h"
#include "nascent/run/report.h"
#include "nascent/run/run_directory.h"
#include "nascent/run/tensorboard.h"

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
    auto section = table.section("report", "The page of a run.");
    section.add(
        "out", out_,
        "file to write; empty: report.html in the run folder, or in the current folder if the run is read-only");
    section.add("tensorboard", tensorboard_,
                "write TensorBoard event files (scalars and cell pictures) to this folder");
  }

  Json run(const Invocation& invocation) override {
    const auto run = RunDirectory::view(invocation.argument("run folder"));
    const std::filesystem::path place = out_.empty() ? place_of_report(run) : std::filesystem::path(out_);
    write_file(place, report_page(run));
    invocation.print(fmt::format("Report: {}", place.string()));
    Json result = {{"report", place.string()}, {"status", status_text(run.status())}};
    if (!tensorboard_.empty()) result["tensorboard"] = write_for_tensorboard(invocation, run);
    return result;
  }

 private:
  Json write_for_tensorboard(const Invocation& invocation, const RunDirectory& run) const {
    const TensorBoardFile written = write_tensorboard(run, tensorboard_);
    invocation.print(fmt::format("TensorBoard: {} ({} numbers, {} pictures)", written.path.string(), written.scalars,
                                 written.pictures));
    return {{"file", written.path.string()}, {"scalars", written.scalars}, {"pictures", written.pictures}};
  }

  std::string out_, tensorboard_;
};

NASCENT_REGISTER(Verb, "report", "regenerates the report of a run, finished or not",
                 [] { return std::make_unique<ReportVerb>(); });

}  // namespace
}  // namespace nascent
