#include "nascent/serve/run_index.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>

#include "nascent/core/error.h"
#include "nascent/run/run_figures.h"
#include "nascent/run/run_list.h"
#include "nascent/serve/event_reader.h"

namespace nascent::serve {

namespace fs = std::filesystem;

namespace {

constexpr uint64_t kLargestText = 64 << 20;  // of a JSON or TOML file that is read whole
constexpr size_t kMostNumbers = 60;          // of a result, in the table
constexpr int kDeepestPart = 4;

bool lies_within(const fs::path& folder, const fs::path& file) {
  return std::mismatch(folder.begin(), folder.end(), file.begin(), file.end()).first == folder.end();
}

Json flat_options(const Json& sections) {
  Json flat = Json::object();
  for (const auto& [section, options] : sections.items()) {
    if (!options.is_object()) continue;
    for (const auto& [name, value] : options.items()) flat[section + "." + name] = value;
  }
  return flat;
}

Json facts_of(const Json& info) {
  Json facts = Json::array();
  for (const auto& fact : info.value("facts", Json::array())) {
    if (fact.is_array() && fact.size() == 2) facts.push_back(fact);
  }
  return facts;
}

// The program's other runs only ever hold texts there; files that people made may hold anything.
std::string text_of(const Json& info, const char* key) {
  const auto found = info.find(key);
  return found != info.end() && found->is_string() ? found->get<std::string>() : "";
}

Json headline_figure(const Json& result) {
  const auto figure = run_figure(result);
  if (!figure) return nullptr;
  return {{"key", figure->key}, {"label", figure->label}, {"value", figure->value}};
}

// Told apart from a file that may still change within the same tick of the clock that stamps files.
bool settled(const Stamp& stamp) {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return now.tv_sec - stamp.seconds > 1;
}

}  // namespace

OpenFile open_inside(const fs::path& folder, const fs::path& file) {
  std::error_code missing;
  const fs::path real = fs::canonical(file, missing);
  if (missing || !lies_within(folder, real)) return OpenFile();
  // What was resolved is opened, and a link that was put there meanwhile is not followed; a pipe does not block.
  OpenFile opened(::open(real.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat status {};
  if (!opened || ::fstat(opened.get(), &status) != 0 || !S_ISREG(status.st_mode)) return OpenFile();
  return opened;
}

Stamp stamp_of(const fs::path& file) {
  struct stat status {};
  if (::stat(file.c_str(), &status) != 0) return {};
  return {status.st_mtim.tv_sec, status.st_mtim.tv_nsec, status.st_size, status.st_ino};
}

RunIndex::RunIndex(fs::path folder) {
  if (!fs::is_directory(folder)) fail("There is no folder {}. Give the one that holds your runs.", folder.string());
  folder_ = fs::canonical(folder);
}

bool RunIndex::readable(const fs::path& file) const {
  const OpenFile opened = open_inside(folder_, file);
  struct stat status {};
  return opened && ::fstat(opened.get(), &status) == 0 && static_cast<uint64_t>(status.st_size) <= kLargestText;
}

const std::vector<const RunIndex::Entry*>& RunIndex::entries(std::chrono::milliseconds age) {
  const auto now = std::chrono::steady_clock::now();
  if (looked_ == std::chrono::steady_clock::time_point() || now - looked_ >= age) {
    refresh();
    looked_ = std::chrono::steady_clock::now();
  }
  return present_;
}

const RunIndex::Entry* RunIndex::find(int64_t number) {
  entries(std::chrono::seconds(2));
  const auto found = by_number_.find(number);
  return found == by_number_.end() ? nullptr : found->second;
}

void RunIndex::refresh() {
  const std::vector<const Entry*> before = std::move(present_);
  present_.clear();
  by_number_.clear();
  std::vector<fs::path> paths = find_runs(folder_);
  std::sort(paths.begin(), paths.end());
  for (const auto& path : paths) visit(path, 0, kDeepestPart);
  if (present_ != before) ++changes_;
  // What is gone keeps its number, in case it comes back, but no more than that.
  for (auto& [path, entry] : known_) {
    if (!by_number_.contains(entry.number)) {
      entry = Entry{.number = entry.number, .parent = entry.parent, .path = entry.path};
    }
  }
}

void RunIndex::visit(const fs::path& path, int64_t parent, int depth) {
  const auto known = known_.find(path);
  const bool unchanged = known != known_.end() && known->second.info_stamp == stamp_of(path / "run.json");
  if (!unchanged && !readable(path / "run.json")) return;
  const auto [place, is_new] = known_.try_emplace(path);
  Entry& entry = place->second;
  if (is_new) {
    entry.number = next_number_++;
    entry.path = path;
  }
  entry.parent = parent;
  update(entry);
  present_.push_back(&entry);
  by_number_[entry.number] = &entry;
  if (depth == 0 || !entry.summary.contains("parts")) return;
  for (const auto& part : entry.summary["parts"]) {
    // A part is a folder of the run; a name that leads elsewhere is none.
    const fs::path name = part.is_string() ? fs::path(part.get<std::string>()).filename() : fs::path();
    if (!name.empty() && name != "." && name != "..") visit(path / name, entry.number, depth - 1);
  }
}

// A run that has ended changes only by being gone on with, which run.json tells.
void RunIndex::update(Entry& entry) {
  const Stamp info = stamp_of(entry.path / "run.json");
  const bool ended = entry.settled && info == entry.info_stamp && entry.state != "running";
  if (ended && entry.store_settled) return;
  const Stamp result = stamp_of(entry.path / "result.json"), options = stamp_of(entry.path / "options.toml");
  if (!entry.settled || info != entry.info_stamp || result != entry.result_stamp || options != entry.options_stamp) {
    entry.info_stamp = info;
    entry.result_stamp = result;
    entry.options_stamp = options;
    entry.store_stamp = {};
    entry.settled = settled(info) && settled(result) && settled(options);
    read_run(entry);
    ++changes_;
  }
  // The lock, not a file, says whether a run that never ended is still going.
  if (entry.summary.value("said", "") == "running") {
    const std::string state = RunLock::is_held(entry.path / "lock") ? "running" : "interrupted";
    if (state != entry.state) ++changes_;
    entry.summary["state"] = entry.state = state;
  }
  if (read_events(entry)) ++changes_;
}

void RunIndex::read_run(Entry& entry) const {
  const fs::path name = fs::relative(entry.path, folder_);
  entry.summary = {{"number", entry.number}, {"name", name == "." ? entry.path.filename().string() : name.string()}};
  if (entry.parent != 0) entry.summary["parent"] = entry.parent;
  entry.state = "damaged";
  try {
    for (const char* file : {"result.json", "options.toml"}) {
      if (fs::exists(fs::symlink_status(entry.path / file)) && !readable(entry.path / file)) {
        fail("{} is no file of the run, or too large to be read.", file);
      }
    }
    const RunDirectory run = RunDirectory::view(entry.path);
    const Json& info = run.info();
    const Json result = run.result();
    entry.options = flat_options(run.options());
    entry.state = status_text(run.status());
    Json numbers = Json::object();
    for (const auto& [key, value] : result_numbers(result)) {
      if (numbers.size() < kMostNumbers) numbers[key] = value;
    }
    entry.summary.update({{"verb", text_of(info, "verb")},
                          {"said", text_of(info, "status")},
                          {"started", text_of(info, "started")},
                          {"ended", text_of(info, "ended")},
                          {"message", text_of(info, "message")},
                          {"facts", facts_of(info)},
                          {"parts", info.value("parts", Json::array())},
                          {"numbers", std::move(numbers)},
                          {"figure", headline_figure(result)}});
  } catch (const std::exception& error) {  // one damaged run does not hide the others
    entry.summary["message"] = error.what();
  }
  entry.summary["state"] = entry.state;
}

bool RunIndex::read_events(Entry& entry) const {
  const fs::path store = entry.path / "events.sqlite", log = entry.path / "events.sqlite-wal";
  const Stamp now = stamp_of(store), log_now = stamp_of(log);
  const bool same = now == entry.store_stamp && log_now == entry.log_stamp && entry.store_settled;
  if (same) return false;
  entry.store_stamp = now;
  entry.log_stamp = log_now;
  entry.store_settled = settled(now) && settled(log_now);
  entry.summary["events"] = 0;
  if (now.size <= 0 || !open_inside(folder_, store)) return true;
  try {
    const EventReader reader(store);
    entry.summary["events"] = reader.count();
    if (const auto newest = reader.newest()) {
      entry.summary["epoch"] = newest->epochs;
      entry.summary["step"] = newest->step;
      entry.summary["latest"] = newest->epoch_values;
    }
  } catch (const Error&) {  // a store that is being made, or is none: there is nothing to tell yet
  }
  return true;
}

}  // namespace nascent::serve
