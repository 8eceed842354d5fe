// Everything one run leaves behind, in one directory:
//
//   options.toml      every option as it was resolved; --resume reads it back
//   run.json          what the run is: verb, version, command line, when, how it ended, defaults of the options
//   events.sqlite     what happened at each step and epoch (run/event_store.h)
//   checkpoints/      the newest states, to resume from
//   genotype.json     what was found or trained; genotype.txt holds the same in every text form
//   result.json       the outcome in numbers
//   model.nascent     the trained network
//   space.toml        the search space, where it is one of the user's own
//   report.html       all of this as a page (run/report.h)
//   lock              held while a process uses the run
//
//   auto run = RunDirectory::create(path, {.verb = "search", .name = "darts", ...}, options);
//   EventStore events(run.events_path());
//   ...
//   run.write_result(result);
//   run.finish(RunStatus::done);
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "nascent/core/options.h"
#include "nascent/run/run_lock.h"
#include "nascent/space/genotype.h"

namespace nascent {

enum class RunStatus { running, done, interrupted, failed };

struct RunDescription {
  std::string verb;                  // "search"
  std::string name;                  // what an automatic directory name says after the verb; may be empty
  std::string version;               // of the program
  std::vector<std::string> command;  // the command line, program name first
  // What the report's headline tells about the run, in order: {"Data set", "cifar10"}, {"Space", "darts"}, ...
  std::vector<std::pair<std::string, std::string>> facts;
  std::optional<uint32_t> data{};  // digest of the images that it works on
};

class RunDirectory {
 public:
  // A new, locked run in `path`; "" means the first free `runs/<verb>-<name>-<n>`. A path that holds a run already is
  // an Error unless `overwrite`, which removes the files listed above and nothing else.
  static RunDirectory create(const std::filesystem::path& path, const RunDescription& description,
                             const OptionTable& options, bool overwrite = false);
  // An existing run of `verb`, locked, to go on with. An Error where its options were edited since it began, or where
  // `data` is of other images than those it began with.
  static RunDirectory resume(const std::filesystem::path& path, const std::string& verb,
                             std::optional<uint32_t> data = std::nullopt);
  // An existing run, to look at; works while another process uses it.
  static RunDirectory view(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path options_path() const { return path_ / "options.toml"; }
  std::filesystem::path events_path() const { return path_ / "events.sqlite"; }
  std::filesystem::path checkpoints_path() const { return path_ / "checkpoints"; }
  std::filesystem::path genotype_path() const { return path_ / "genotype.json"; }
  std::filesystem::path result_path() const { return path_ / "result.json"; }
  std::filesystem::path model_path() const { return path_ / "model.nascent"; }
  std::filesystem::path report_path() const { return path_ / "report.html"; }

  // options.toml, and the defaults in run.json: again after a resume that changed an option.
  void write_options(const OptionTable& options);
  // genotype.json and genotype.txt.
  void write_genotype(const Genotype& genotype);
  // result.json. The report's headline looks, at any depth, for `test_top1`, `valid_top1` or `top1` (percent),
  // `parameters`, `multiply_adds` and `seconds`.
  void write_result(const Json& result);
  // How the run ended; `message` is the error's text where it failed, `seconds` the time of work so far.
  void finish(RunStatus status, const std::string& message = "", double seconds = 0, double core_seconds = 0);
  // A run in a folder of this one, named before it is made: replacing the whole removes it.
  void add_part(const std::string& folder);

  // An Error says what to type unless it is a run of `verb`.
  void require_verb(const std::string& verb) const;
  // A run that was killed never said so: it counts as interrupted once no process holds its lock.
  RunStatus status() const;
  const Json& info() const { return info_; }  // run.json
  std::optional<Genotype> genotype() const;
  Json result() const;   // an empty object where there is none yet
  Json options() const;  // {section: {name: value}} of options.toml; an empty object where there is none

 private:
  RunDirectory(std::filesystem::path path, std::unique_ptr<RunLock> lock);
  void read_info();
  void check_unchanged(std::optional<uint32_t> data) const;
  void write_info() const;

  std::filesystem::path path_;
  std::unique_ptr<RunLock> lock_;  // null: only looking
  Json info_ = Json::object();
};

std::string status_text(RunStatus status);

}  // namespace nascent
