#include "nascent/cli/run_session.h"

#include <exception>

#include "nascent/cli/version.h"
#include "nascent/core/error.h"
#include "nascent/core/interrupt.h"
#include "nascent/core/log.h"
#include "nascent/nn/engine.h"
#include "nascent/nn/memory_estimate.h"
#include "nascent/nn/threads.h"
#include "nascent/run/report.h"

namespace nascent {

void RunOptions::declare(OptionTable& table) {
  auto section = table.section("run", "Where and how a run happens.");
  section.add("seed", seed, "of every random stream; the same seed and thread count give the same result").at_least(0);
  section.add("threads", threads, "threads that compute; 0: one per core").range(0, 1024);
  section.add("engine", engine, "how cells are computed: by fused kernels or by LibTorch's plain operations")
      .one_of({"fused", "reference"});
  section.add("memory", memory, "GB that a step may take; 0: what is available").at_least(0);
  section.add("out", out, "folder of the run; empty: a new one under runs/");
  section.add("overwrite", overwrite, "replace a run that is there already");
  section.add("checkpoint-seconds", checkpoint_seconds, "write a checkpoint when the last one is this old").at_least(0);
  section.add("checkpoint-steps", checkpoint_steps, "write a checkpoint every so many steps; 0: by time only")
      .at_least(0);
}

void RunOptions::apply() const {
  use_threads(threads);
  use_engine(engine_named(engine));
}

std::string RunOptions::check_memory(const NetworkPlan& plan, int batch, int running) const {
  const MemoryEstimate estimate = estimate_memory(plan, batch, nascent::engine(), running);
  const std::string engines = engine == "fused" ? "" : ", or use run.engine = \"fused\"";
  return nascent::check_memory(
      estimate, memory * 1e9,
      fmt::format("Lower data.batch (now {}), network.channels or network.cells{}.", batch, engines));
}

RunDirectory RunSession::open(const std::string& name, RunFacts facts) const {
  if (!invocation_.resume.empty()) return RunDirectory::resume(invocation_.resume, invocation_.verb);
  std::vector<std::string> command = {"nascent", invocation_.verb};
  command.insert(command.end(), invocation_.command_line.begin(), invocation_.command_line.end());
  if (!invocation_.recipe.empty()) facts.insert(facts.begin(), {"Recipe", invocation_.recipe});
  return RunDirectory::create(options_.out, {invocation_.verb, name, version(), command, std::move(facts)},
                              *invocation_.options, options_.overwrite);
}

RunSession::RunSession(const Invocation& invocation, const RunOptions& options, const std::string& name, RunFacts facts)
    : invocation_(invocation),
      options_(options),
      directory_(open(name, std::move(facts))),
      events_(directory_.events_path()),
      checkpoints_(directory_.checkpoints_path()) {
  log::info("Run directory: {}", directory_.path().string());
}

RunSession::~RunSession() {
  if (!concluded_) directory_.finish(RunStatus::failed, "ended before it was done");
}

void RunSession::run(Job& job) {
  run([&] {
    run_job(job, {.checkpoints = &checkpoints_,
                  .events = &events_,
                  .resume = !invocation_.resume.empty(),
                  .checkpoint_steps = options_.checkpoint_steps,
                  .checkpoint_seconds = options_.checkpoint_seconds});
  });
}

void RunSession::run(const std::function<void()>& work) {
  try {
    work();
  } catch (const Interrupted&) {
    concluded_ = true;
    directory_.finish(RunStatus::interrupted);
    log::info("Interrupted; a checkpoint is written. Go on with: nascent {} --resume {}", invocation_.verb,
              directory_.path().string());
    throw;
  } catch (const std::exception& error) {
    concluded_ = true;
    directory_.finish(RunStatus::failed, error.what());
    report_failure();
    throw;
  }
}

// The report says why; that it cannot be written must not hide the reason.
void RunSession::report_failure() {
  try {
    events_.flush();
    write_report(directory_);
  } catch (const std::exception& error) {
    log::warning("The report could not be written: {}", error.what());
  }
}

void RunSession::conclude(const Json& result) {
  concluded_ = true;
  directory_.write_result(result);
  directory_.finish(RunStatus::done);
  events_.flush();
  write_report(directory_);
}

}  // namespace nascent
