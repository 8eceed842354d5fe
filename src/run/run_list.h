// The runs of a folder, and what to say of each in a line.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "nascent/run/run_directory.h"
#include "nascent/run/run_figures.h"

namespace nascent {

struct RunSummary {
  std::filesystem::path path{};
  std::string verb{}, started{};  // as run.json has it: 2026-01-31T12:00:00Z
  std::string state{};            // status_text(), or "damaged"
  double age = 0;                 // seconds since it started
  std::optional<RunFigure> figure{};
  std::string message{};  // of a failed or damaged one
  Json to_json() const;
};

// Which runs are listed; empty: all.
struct RunFilter {
  std::string state, verb, match;  // `match`: a part of the path
  bool accepts(const RunSummary& run) const;
};

// The runs at or below `folder`, the newest first; runs within a run belong to it and are not listed. An Error where
// there is no such folder.
std::vector<RunSummary> list_runs(const std::filesystem::path& folder, const RunFilter& filter = {});

// Folders of the runs at or below `folder`, in no order; links and hidden folders are not followed.
std::vector<std::filesystem::path> find_runs(const std::filesystem::path& folder);

// Interrupted or failed: what --rm may remove.
bool is_unfinished(const RunSummary& run);

// Removes the files of a run and nothing else; the folder goes where that leaves it empty. An Error while a process
// uses it.
void remove_run(const std::filesystem::path& path);

// "3 min", "2 h", "12 days".
std::string age_text(double seconds);

}  // namespace nascent
