#include "nascent/run/run_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <ctime>

#include "nascent/core/error.h"

namespace nascent {

namespace fs = std::filesystem;

namespace {

double seconds_since(const std::string& started) {
  std::tm time{};
  if (strptime(started.c_str(), "%Y-%m-%dT%H:%M:%SZ", &time) == nullptr) return 0;
  return std::difftime(std::time(nullptr), timegm(&time));
}

RunSummary summary_of(const fs::path& path) {
  RunSummary summary{.path = path, .state = "damaged"};
  try {
    const RunDirectory run = RunDirectory::view(path);
    summary.verb = run.info().value("verb", "");
    summary.started = run.info().value("started", "");
    summary.age = seconds_since(summary.started);
    summary.message = run.info().value("message", "");
    summary.figure = run_figure(run.result());
    summary.state = status_text(run.status());
  } catch (const std::exception& error) {  // one damaged run does not hide the others
    summary.message = error.what();
  }
  return summary;
}

void add_runs(const fs::path& folder, int depth, std::vector<fs::path>& found) {
  std::error_code unreadable;
  if (fs::exists(folder / "run.json", unreadable)) return found.push_back(folder);
  if (depth == 0) return;
  for (const auto& entry : fs::directory_iterator(folder, unreadable)) {
    const bool hidden = entry.path().filename().string().starts_with(".");
    if (entry.is_directory(unreadable) && !entry.is_symlink(unreadable) && !hidden)
      add_runs(entry.path(), depth - 1, found);
  }
}

}  // namespace

Json RunSummary::to_json() const {
  Json json = {{"run", path.string()}, {"verb", verb}, {"state", state}, {"started", started}, {"age", age}};
  if (figure) json["figure"] = {{"key", figure->key}, {"value", figure->value}};
  if (!message.empty()) json["message"] = message;
  return json;
}

bool RunFilter::accepts(const RunSummary& run) const {
  return (state.empty() || run.state == state) && (verb.empty() || run.verb == verb) &&
         (match.empty() || run.path.string().find(match) != std::string::npos);
}

std::vector<fs::path> find_runs(const fs::path& folder) {
  constexpr int kDepth = 4;
  std::vector<fs::path> found;
  add_runs(folder, kDepth, found);
  return found;
}

std::vector<RunSummary> list_runs(const fs::path& folder, const RunFilter& filter) {
  if (!fs::is_directory(folder)) fail("There is no folder {}.", folder.string());
  std::vector<RunSummary> runs;
  for (const auto& path : find_runs(folder)) {
    RunSummary summary = summary_of(path);
    if (filter.accepts(summary)) runs.push_back(std::move(summary));
  }
  std::sort(runs.begin(), runs.end(), [](const RunSummary& a, const RunSummary& b) {
    return a.started != b.started ? a.started > b.started : a.path < b.path;
  });
  return runs;
}

bool is_unfinished(const RunSummary& run) { return run.state == "interrupted" || run.state == "failed"; }

std::string age_text(double seconds) {
  if (seconds < 60) return fmt::format("{:.0f} s", std::max(0.0, seconds));
  if (seconds < 3600) return fmt::format("{:.0f} min", seconds / 60);
  if (seconds < 86400) return fmt::format("{:.0f} h", seconds / 3600);
  return fmt::format("{:.0f} days", seconds / 86400);
}

}  // namespace nascent
