// One run of a verb that leaves something behind: its directory, its events and checkpoints, how it ends.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "nascent/cli/verb.h"
#include "nascent/run/event_store.h"
#include "nascent/run/run_directory.h"
#include "nascent/space/plan.h"
#include "nascent/train/checkpoints.h"
#include "nascent/train/loop.h"

namespace nascent {

struct RunOptions {
  int64_t seed = 1;
  int threads = 0;  // 0: one per core
  std::string engine = "fused";
  double memory = 0;  // GB; 0: what is available
  std::string out;
  bool overwrite = false;
  double checkpoint_seconds = 60;
  int64_t checkpoint_steps = 0;
  void declare(OptionTable& table);  // section "run"
  void apply() const;                // sets the number of threads and the engine
  // What a step of the network will take, for people to read; an Error where that is too much.
  std::string check_memory(const NetworkPlan& plan, int batch, int running = 0) const;
};

using RunFacts = std::vector<std::pair<std::string, std::string>>;

class RunSession {
 public:
  // Makes the run's directory, or takes up the one that --resume names.
  RunSession(const Invocation& invocation, const RunOptions& options, const std::string& name, RunFacts facts);
  // A run that was not concluded has failed.
  ~RunSession();

  // Runs the job to its end. After Ctrl-C says how to go on, and throws Interrupted.
  void run(Job& job);
  // The same for work of another kind.
  void run(const std::function<void()>& work);
  // The run is done: writes its result and its report.
  void conclude(const Json& result);

  RunDirectory& directory() { return directory_; }
  EventStore& events() { return events_; }

 private:
  void report_failure();
  RunDirectory open(const std::string& name, RunFacts facts) const;

  const Invocation& invocation_;
  RunOptions options_;
  RunDirectory directory_;
  EventStore events_;
  CheckpointStore checkpoints_;
  bool concluded_ = false;
};

}  // namespace nascent
