// nascent runs: the runs of a folder.
#include <unistd.h>

#include <iostream>

#include "nascent/cli/verb.h"
#include "nascent/core/csv_field.h"
#include "nascent/core/log.h"
#include "nascent/core/text.h"
#include "nascent/run/run_list.h"

namespace nascent {
namespace {

class RunsVerb : public Verb {
 public:
  std::string arguments() const override { return "[FOLDER]"; }

  void declare(OptionTable& table) override {
    auto section = table.section("runs", "Which runs are listed, and what becomes of them.");
    section.add("state", filter_.state, "only runs in this state; empty: all")
        .one_of({"", "running", "done", "interrupted", "failed", "damaged"});
    section.add("verb", filter_.verb, "only runs of this verb, such as search; empty: all");
    section.add("match", filter_.match, "only runs whose path contains this text; empty: all");
    section.add("form", form_, "how runs are printed").one_of({"table", "csv"});
    section.add("rm", remove_, "remove the listed runs that were interrupted or have failed, after confirmation");
    section.add("yes", yes_, "do not ask for confirmation");
  }

  Json run(const Invocation& invocation) override {
    const std::string named = invocation.argument("folder", false);
    const std::vector<RunSummary> runs = list_runs(named.empty() ? "runs" : named, filter_);
    print(invocation, runs);
    Json result = {{"runs", Json::array()}};
    for (const auto& run : runs) result["runs"].push_back(run.to_json());
    if (remove_) result["removed"] = remove(runs);
    return result;
  }

 private:
  void print(const Invocation& invocation, const std::vector<RunSummary>& runs) const {
    if (form_ == "csv") invocation.print("run,verb,state,started,figure,value");
    if (form_ == "table" && runs.empty()) invocation.print("There are no such runs.");
    for (const auto& run : runs) {
      const std::string key = run.figure ? run.figure->key : "";
      if (form_ == "csv") {
        invocation.print(fmt::format("{},{},{},{},{},{}", csv_field(run.path.string()), csv_field(run.verb), run.state,
                                     run.started, csv_field(key),
                                     run.figure ? fmt::format("{}", run.figure->value) : ""));
      } else {
        const std::string figure = run.figure ? fmt::format("{} {:.2f} %", run.figure->label, run.figure->value) : "";
        invocation.print(fmt::format("{:<40} {:<8} {:<12} {:>8}  {}", run.path.string(), run.verb, run.state,
                                     age_text(run.age), run.state == "failed" ? run.message : figure));
      }
    }
  }

  bool agreed(size_t count) const {
    if (yes_) return true;
    if (::isatty(STDIN_FILENO) == 0) {
      fail("--rm asks before it removes {} runs, and there is nobody to ask. Say --yes to remove them.", count);
    }
    std::cerr << fmt::format("Remove these {} runs for good? Type yes: ", count);
    std::string answer;
    std::getline(std::cin, answer);
    return trim(answer) == "yes";
  }

  Json remove(const std::vector<RunSummary>& runs) const {
    std::vector<RunSummary> unfinished;
    std::copy_if(runs.begin(), runs.end(), std::back_inserter(unfinished), is_unfinished);
    Json removed = Json::array();
    if (unfinished.empty()) {
      log::info("There is nothing to remove: none of these runs was interrupted or has failed.");
      return removed;
    }
    for (const auto& run : unfinished) log::info("{} ({})", run.path.string(), run.state);
    if (!agreed(unfinished.size())) {
      log::info("Nothing was removed.");
      return removed;
    }
    for (const auto& run : unfinished) {
      remove_run(run.path);
      removed.push_back(run.path.string());
    }
    log::info("Removed {}.", unfinished.size());
    return removed;
  }

  RunFilter filter_;
  std::string form_ = "table";
  bool remove_ = false, yes_ = false;
};

NASCENT_REGISTER(Verb, "runs", "lists the runs of a folder: state, age, headline figure",
                 [] { return std::make_unique<RunsVerb>(); });

}  // namespace
}  // namespace nascent
