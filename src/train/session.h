// One run: its folder, its events and checkpoints, how it ends, and the runs within it. What takes long runs in one.
//
//   Session session({.verb = "train", .command = words}, table, options.run);
//   session.begin("darts", {{"Data set", "cifar10"}});                       // once nothing can be refused any more
//   session.run([&] { session.run(job); session.conclude(result); });        // a failure in here is the run's
//   const Json result = session.part("member-1", {.verb = "train"}, training, [](const auto& o, Session& s) { train(o,
//   s); });
#pragma once

#include <chrono>
#include <ctime>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "nascent/run/event_store.h"
#include "nascent/run/run_directory.h"
#include "nascent/train/checkpoints.h"
#include "nascent/train/loop.h"
#include "nascent/train/run_options.h"

namespace nascent {

// How a run came about.
struct SessionStart {
  std::string verb{};                  // that goes on with it: 'nascent VERB --resume FOLDER'
  std::vector<std::string> command{};  // the words after the verb
  std::string recipe{};                // "": none
  std::string resume{};                // folder of the run to go on with; "": a new one
  bool part = false;                   // of another run, which tells people what they need to know
};

using RunFacts = std::vector<std::pair<std::string, std::string>>;

class Session {
 public:
  // `options` are kept with the run. Nothing is written before begin(); both must outlive the session.
  Session(SessionStart start, const OptionTable& options, const RunOptions& run);
  // A run that was begun and not concluded has failed.
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Makes the run's folder, or takes up the one to resume. `name` is what an automatic folder name says after the verb,
  // `facts` what the report says first. `data` is a digest of the images that the run works on (ImageData::digest):
  // going on with others is refused.
  void begin(const std::string& name, RunFacts facts, std::optional<uint32_t> data = std::nullopt);
  // Runs the job to its end, from the newest checkpoint where the run is resumed.
  void run(Job& job);
  // Work that belongs to the run: where it fails, the run has failed, with the reason in run.json and in the report.
  // After Ctrl-C says how to go on, and throws Interrupted.
  void run(const std::function<void()>& work);
  // The run is done: writes its result and its report.
  void conclude(const Json& result);

  // A run in a folder of this one. One that is done is only read, one that was begun goes on with the options it began
  // with, any other is started; returns the result that it left. Its folder is a complete run that can be resumed,
  // reported and evaluated by itself; threads, engine and the times of its checkpoints are this run's. `Options` has
  // `declare(OptionTable&)`, `resolve(resume)` and a RunOptions `run`; `body` concludes the session it is given.
  template <class Options, class Body>
  Json part(const std::string& folder, const SessionStart& start, const Options& options, Body&& body);

  const SessionStart& start() const { return start_; }
  bool resumed() const { return !start_.resume.empty(); }
  // As typed after the verb when the run was started, also where this process resumed it.
  std::vector<std::string> command() const;
  std::string recipe() const;   // that it was started with; "": none
  double seconds() const;       // of work so far, in all processes that ended by themselves and in this one
  double core_seconds() const;  // the same of processor time, all threads together: what a run costs beside others
  RunDirectory& directory() { return *directory_; }
  const RunDirectory& directory() const { return *directory_; }
  EventStore& events() { return *events_; }

 private:
  std::optional<Json> result_of_part(const std::string& folder) const;
  // Takes over what a part has from this run, and what it began with; returns how it starts.
  SessionStart start_part(const std::string& folder, SessionStart start, OptionTable& table, RunOptions& run);
  void finish(RunStatus status, const std::string& message = "");
  void report_failure();

  SessionStart start_;
  const OptionTable& options_;
  const RunOptions& run_;
  std::optional<RunDirectory> directory_;
  std::unique_ptr<EventStore> events_;
  std::unique_ptr<CheckpointStore> checkpoints_;
  std::chrono::steady_clock::time_point began_;
  std::clock_t clock_began_;
  bool finished_ = false;
  bool guarded_ = false;  // inside run(work)
};

template <class Options, class Body>
Json Session::part(const std::string& folder, const SessionStart& start, const Options& options, Body&& body) {
  if (const auto known = result_of_part(folder)) return *known;
  Options own;
  OptionTable table;
  own.declare(table);  // with the defaults, so that the part's report tells what differs from them
  own = options;
  const SessionStart started = start_part(folder, start, table, own.run);
  own.resolve(started.resume);
  {
    Session session(started, table, own.run);
    body(std::as_const(own), session);
  }
  return result_of_part(folder).value();
}

}  // namespace nascent
