#include "nascent/run/run_directory.h"

#include <fmt/chrono.h>
#include <toml++/toml.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <iterator>
#include <sstream>

#include "nascent/core/error.h"
#include "nascent/core/files.h"
#include "nascent/run/judgement_section.h"
#include "nascent/run/run_list.h"

namespace nascent {

namespace fs = std::filesystem;

namespace {

constexpr std::array kStatusNames = {"running", "done", "interrupted", "failed"};
// run.json goes last: a directory that a killed process has emptied by half is still a run, and may be replaced.
constexpr std::array kFiles = {
    "options.toml", "events.sqlite", "events.sqlite-wal", "events.sqlite-shm",   "checkpoints",  "genotype.json",
    "genotype.txt", "result.json",   kJudgementFile,      "model.nascent",       "best.nascent", "space.toml",
    "metrics.csv",  "adversarial",   "figures",           "adversarial.nascent", "report.html",  "run.json"};

std::string now() {
  const auto time = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(time));
}

Json read_json(const fs::path& path) {
  try {
    return Json::parse(read_file(path));
  } catch (const Json::exception& error) {
    fail("{} is damaged: {}.", path.string(), error.what());
  }
}

// A file that was edited or damaged is refused here, once, so that what reads run.json can rely on its types.
void check_info(const Json& info, const fs::path& path) {
  const auto expect = [&](const std::string& key, bool good, const char* expected) {
    if (!good) fail("{} is damaged: \"{}\" is not {}.", path.string(), key, expected);
  };
  if (!info.is_object()) fail("{} is damaged: expected an object.", path.string());
  for (const char* key : {"verb", "name", "version", "status", "message", "started", "data"}) {
    expect(key, !info.contains(key) || info[key].is_string(), "a text");
  }
  for (const char* key : {"seconds", "core_seconds"}) {
    expect(key, !info.contains(key) || info[key].is_number(), "a number");
  }
  expect("ended", !info.contains("ended") || info["ended"].is_string() || info["ended"].is_null(), "a time");
  for (const char* key : {"command", "resumed", "parts"}) {
    const Json list = info.value(key, Json::array());
    const auto is_text = [](const Json& word) { return word.is_string(); };
    expect(key, list.is_array() && std::all_of(list.begin(), list.end(), is_text), "a list of texts");
  }
  const Json options = info.value("options", Json::array()), facts = info.value("facts", Json::array());
  const auto is_option = [](const Json& option) {
    return option.is_object() && option.contains("key") && option["key"].is_string() &&
           option.value("meaning", Json("")).is_string();
  };
  expect("options", options.is_array() && std::all_of(options.begin(), options.end(), is_option), "a list of options");
  const auto is_fact = [](const Json& fact) {
    return fact.is_array() && fact.size() == 2 && fact[0].is_string() && fact[1].is_string();
  };
  expect("facts", facts.is_array() && std::all_of(facts.begin(), facts.end(), is_fact), "a list of pairs of texts");
}

// "search.epochs" in {section: {name: value}}.
const Json* value_of(const Json& values, const std::string& key) {
  const size_t dot = key.find('.');
  if (dot == std::string::npos || !values.contains(key.substr(0, dot))) return nullptr;
  const Json& section = values[key.substr(0, dot)];
  const auto value = section.find(key.substr(dot + 1));
  return value == section.end() ? nullptr : &*value;
}

// 3 and 3.0 are the same option.
bool same_value(const Json& a, const Json& b) {
  if (a.is_number() && b.is_number()) return a.get<double>() == b.get<double>();
  if (!a.is_array() || !b.is_array() || a.size() != b.size()) return a == b;
  return std::equal(a.begin(), a.end(), b.begin(), same_value);
}

std::string pretty(const Json& json) { return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"; }

bool is_run(const fs::path& path) { return fs::exists(path / "run.json"); }

bool is_partial(const fs::path& file) { return file.filename().string().find(".partial.") != std::string::npos; }

// A directory with nothing in it but what a run killed at birth may have left: its lock, and what create() makes after
// the lock and before run.json.
bool is_free(const fs::path& path) {
  if (!fs::exists(path)) return true;
  if (!fs::is_directory(path)) return false;
  const bool locked = fs::exists(path / "lock");
  const auto left_at_birth = [&](const fs::path& file) {
    if (is_partial(file)) return true;
    const fs::path name = file.filename();
    return locked && (name == "lock" || name == "options.toml" || (name == "checkpoints" && fs::is_empty(file)));
  };
  return std::all_of(fs::directory_iterator(path), fs::directory_iterator(), left_at_birth);
}

std::string as_file_name(std::string text) {
  for (char& c : text) {
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '.' && c != '_') c = '-';
  }
  return text;
}

// Making the directory is what takes the name, so that two programs started together get two.
fs::path take_free_name(const RunDescription& description) {
  make_folders("runs");
  const std::string name = description.name.empty() ? "" : "-" + as_file_name(description.name);
  for (int n = 1;; ++n) {
    const fs::path path = fs::path("runs") / fmt::format("{}{}-{}", as_file_name(description.verb), name, n);
    if (fs::create_directory(path)) return path;
  }
}

void check_may_create(const fs::path& path, const std::string& verb, bool overwrite) {
  if (is_run(path) && !overwrite) {
    fail(
        "{0} already holds a run. Resume it with 'nascent {1} --resume {0}', replace it with --overwrite, or choose "
        "another directory.",
        path.string(), verb);
  }
  if (!is_run(path) && !is_free(path)) {
    fail("{} exists and is not a run; refusing to write there. Choose another directory.", path.string());
  }
}

void check_is_run(const fs::path& path) {
  if (!fs::is_directory(path)) fail("There is no run {}.", path.string());
  if (!is_run(path)) fail("{} is not a run: it has no run.json.", path.string());
}

// Runs within the run that is replaced. Only what it says to be its part and what a run has locked is removed.
void remove_parts(const fs::path& path) {
  if (!is_run(path)) return;
  const Json info = Json::parse(read_file(path / "run.json"), nullptr, /*allow_exceptions=*/false);
  if (!info.is_object()) return;  // damaged: it can be replaced all the same
  for (const auto& part : info.value("parts", Json::array())) {
    const fs::path folder = path / fs::path(part.get<std::string>()).filename();
    if (fs::exists(folder / "lock")) fs::remove_all(folder);
  }
}

void remove_run_files(const fs::path& path) {
  remove_parts(path);
  for (const char* file : kFiles) fs::remove_all(path / file);
}

// What a process killed while writing left beside the files. The report is left alone: another process may write it.
void remove_partial_files(const fs::path& folder) {
  if (!fs::is_directory(folder)) return;
  std::vector<fs::path> partial;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (is_partial(entry.path()) && !entry.path().filename().string().starts_with("report.html")) {
      partial.push_back(entry.path());
    }
  }
  for (const auto& file : partial) fs::remove(file);
}

Json describe_options(const OptionTable& options) {
  Json all = Json::array();
  for (const auto& option : options.options()) {
    all.push_back({{"key", option.key()},
                   {"value", option.value()},
                   {"default", option.default_value()},
                   {"meaning", option.help()}});
  }
  return all;
}

// Every text form under its name, for people to copy from.
std::string every_form(const Genotype& genotype) {
  std::string text = describe(genotype) + "\n";
  for (const auto& form : text_forms(genotype)) text += fmt::format("\n# {}\n{}\n", form, to_text(genotype, form));
  return text;
}

}  // namespace

void remove_run(const fs::path& path) {
  check_is_run(path);
  const RunLock lock(path / "lock");
  remove_partial_files(path);
  remove_run_files(path);
  for (const char* file : {"space.toml", "lock"}) fs::remove(path / file);
  if (fs::is_empty(path)) fs::remove(path);
}

std::string status_text(RunStatus status) { return kStatusNames[static_cast<size_t>(status)]; }

RunDirectory::RunDirectory(fs::path path, std::unique_ptr<RunLock> lock)
    : path_(std::move(path)), lock_(std::move(lock)) {}

RunDirectory RunDirectory::create(const fs::path& path, const RunDescription& description, const OptionTable& options,
                                  bool overwrite) {
  if (!path.empty()) check_may_create(path, description.verb, overwrite);
  const fs::path place = path.empty() ? take_free_name(description) : path;
  make_folders(place);
  RunDirectory run(place, std::make_unique<RunLock>(place / "lock"));
  check_may_create(place, description.verb, overwrite);  // again, now that nobody else can
  remove_run_files(place);
  remove_partial_files(place);
  run.info_ = {{"format", 1},
               {"verb", description.verb},
               {"name", description.name},
               {"version", description.version},
               {"command", description.command},
               {"facts", Json::array()},
               {"status", status_text(RunStatus::running)},
               {"message", ""},
               {"started", now()},
               {"resumed", Json::array()},
               {"ended", nullptr},
               {"seconds", 0.0},
               {"core_seconds", 0.0},
               {"parts", Json::array()},
               {"options", Json::array()}};
  if (description.data) run.info_["data"] = fmt::format("{:08x}", *description.data);
  for (const auto& [label, text] : description.facts) run.info_["facts"].push_back({label, text});
  make_folders(run.checkpoints_path());
  run.write_options(options);
  return run;
}

RunDirectory RunDirectory::resume(const fs::path& path, const std::string& verb, std::optional<uint32_t> data) {
  check_is_run(path);
  RunDirectory run(path, std::make_unique<RunLock>(path / "lock"));
  run.read_info();
  run.require_verb(verb);
  run.check_unchanged(data);
  remove_partial_files(path);
  remove_partial_files(run.checkpoints_path());
  run.info_["status"] = status_text(RunStatus::running);
  run.info_["message"] = "";
  run.info_["ended"] = nullptr;
  run.info_["resumed"].push_back(now());
  run.write_info();
  return run;
}

RunDirectory RunDirectory::view(const fs::path& path) {
  check_is_run(path);
  RunDirectory run(path, nullptr);
  run.read_info();
  return run;
}

void RunDirectory::write_options(const OptionTable& options) {
  const std::string heading = fmt::format(
      "# Every option of this run of nascent {} {}, as it was resolved. 'nascent {} --resume' reads this file.\n\n",
      info_["verb"].get<std::string>(), info_["version"].get<std::string>(), info_["verb"].get<std::string>());
  write_file(options_path(), heading + options.to_toml());
  info_["options"] = describe_options(options);
  // Last: a directory is a run once it has run.json, and then it has its options too.
  write_info();
}

void RunDirectory::write_genotype(const Genotype& genotype) {
  write_file(path_ / "genotype.txt", every_form(genotype));
  write_file(genotype_path(), to_text(genotype, "json") + "\n");
}

void RunDirectory::write_result(const Json& result) { write_file(result_path(), pretty(result)); }

void RunDirectory::finish(RunStatus status, const std::string& message, double seconds, double core_seconds) {
  info_["status"] = status_text(status);
  info_["message"] = message;
  info_["ended"] = now();
  info_["seconds"] = seconds;
  info_["core_seconds"] = core_seconds;
  write_info();
}

void RunDirectory::add_part(const std::string& folder) {
  Json& parts = info_["parts"];
  if (std::find(parts.begin(), parts.end(), folder) != parts.end()) return;
  parts.push_back(folder);
  write_info();
}

RunStatus RunDirectory::status() const {
  const std::string said = info_.value("status", "running");
  const bool killed = said == "running" && lock_ == nullptr && !RunLock::is_held(path_ / "lock");
  if (killed) return RunStatus::interrupted;
  for (size_t i = 0; i < kStatusNames.size(); ++i) {
    if (said == kStatusNames[i]) return static_cast<RunStatus>(i);
  }
  fail("{}: the status is '{}'; expected: running, done, interrupted or failed.", (path_ / "run.json").string(), said);
}

std::optional<Genotype> RunDirectory::genotype() const {
  if (!fs::exists(genotype_path())) return std::nullopt;
  return parse_genotype(read_file(genotype_path()), "json");
}

Json RunDirectory::result() const {
  return fs::is_regular_file(result_path()) ? read_json(result_path()) : Json::object();
}

Json RunDirectory::options() const {
  if (!fs::exists(options_path())) return Json::object();
  try {
    std::ostringstream json;
    json << toml::json_formatter(toml::parse(read_file(options_path())));
    return Json::parse(json.str());
  } catch (const toml::parse_error& error) {
    fail("{} is damaged: {}.", options_path().string(), std::string(error.description()));
  }
}

void RunDirectory::read_info() {
  info_ = read_json(path_ / "run.json");
  check_info(info_, path_ / "run.json");
}

void RunDirectory::require_verb(const std::string& verb) const {
  const std::string own = info_.value("verb", "");
  if (own == verb) return;
  fail("{0} is a run of 'nascent {1}'. Resume it with 'nascent {1} --resume {0}'.", path_.string(), own);
}

void RunDirectory::check_unchanged(std::optional<uint32_t> data) const {
  const Json values = options();
  for (const auto& option : info_.value("options", Json::array())) {
    if (!option.contains("value")) continue;  // a run of an older version
    const std::string key = option["key"];
    if (key.starts_with("run.") && key != "run.seed") continue;  // these may change
    const Json& began = option["value"];
    const Json* now = value_of(values, key);
    if (now != nullptr && same_value(*now, began)) continue;
    fail(
        "{}: {} is {}, but the run began with {}, and a resumed run keeps its options. Put it back, or start a new "
        "run.",
        options_path().string(), key, now == nullptr ? "missing" : now->dump(), began.dump());
  }
  const std::string known = info_.value("data", "");
  if (data && !known.empty() && known != fmt::format("{:08x}", *data)) {
    fail(
        "The images of the run {} are not those it began with: pictures, labels, classes or their split have changed. "
        "Put them back, or start a new run.",
        path_.string());
  }
}

void RunDirectory::write_info() const { write_file(path_ / "run.json", pretty(info_)); }

}  // namespace nascent
