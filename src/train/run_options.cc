#include "nascent/train/run_options.h"

#include <algorithm>
#include <thread>

#include "nascent/cluster/ranks.h"
#include "nascent/core/cores.h"
#include "nascent/core/error.h"
#include "nascent/core/log.h"
#include "nascent/nn/engine.h"
#include "nascent/nn/memory_estimate.h"
#include "nascent/nn/threads.h"

namespace nascent {

void RunOptions::declare_computing(OptionTable& table) {
  auto section = table.section("run", "Where and how a run happens.");
  section.add("seed", seed, "random seed; the same seed and number of threads give the same result").at_least(0);
  section.add("threads", threads, "number of compute threads; 0: one per core").range(0, 1024);
  section.add("engine", engine, "compute cells with fused kernels or with LibTorch's plain operations")
      .one_of({"fused", "reference"});
}

void declare_precision(OptionTable& table, std::string& precision) {
  table.section("run", "")
      .add("precision", precision,
           "what the fused engine stores activations in; bf16 takes half the memory, auto is float")
      .one_of({"auto", "float", "bf16"});
}

void RunOptions::declare(OptionTable& table) {
  declare_computing(table);
  declare_precision(table, precision);
  auto section = table.section("run", "");
  section.add("memory", memory, "memory limit for a training step in GB; 0: what is available").at_least(0);
  section.add("out", out, "run folder; empty: a new one under runs/");
  section.add("overwrite", overwrite, "replace an existing run");
  section.add("checkpoint-seconds", checkpoint_seconds, "seconds between checkpoints").at_least(0);
  section.add("checkpoint-steps", checkpoint_steps, "steps between checkpoints; 0: by time only").at_least(0);
}

namespace {

// Ranks that mpirun bound to a core each, and told to use several.
void warn_of_binding(int threads, int cores) {
  static bool warned = false;
  if (threads <= cores || cores >= static_cast<int>(std::thread::hardware_concurrency()) ||
      std::exchange(warned, true)) {
    return;
  }
  log::warning(
      "{} threads share {} core{}: this process is bound to no more of the machine's {}. mpirun binds its ranks so "
      "unless "
      "it is given --bind-to none.",
      threads, cores, cores == 1 ? "" : "s", std::thread::hardware_concurrency());
}

}  // namespace

void RunOptions::apply() const {
  const int cores = count(usable_cores());
  if (const int most = std::max(64, 4 * cores); threads > most) {
    fail("run.threads is {}, but there are {} cores, and more threads only wait for one another. Give {}, or 0.",
         threads, cores, cores);
  }
  warn_of_binding(threads, cores);
  use_threads(threads == 0 ? cluster::usual_threads() : threads);
  use_engine(engine_named(engine));
  use_precision(precision_named(precision));
  if (nascent::engine() == Engine::reference && nascent::precision() == Precision::bf16) {
    fail(
        "run.precision is bf16, but LibTorch's plain operations compute in float. Use run.engine = \"fused\", or "
        "run.precision = \"float\".");
  }
}

std::string RunOptions::check_memory(const NetworkPlan& plan, int batch, int running) const {
  const MemoryEstimate estimate = estimate_memory(plan, batch, nascent::engine(), running);
  const std::string engines = engine == "fused" ? "" : ", or use run.engine = \"fused\"";
  const std::string advice =
      fmt::format("Lower data.batch (now {}), network.channels or network.cells{}.", batch, engines);
  const auto here = cluster::processes_here();
  if (memory == 0 && here.size() > 1) {
    // Some may be at work already: what they hold is theirs.
    double room = free_memory();
    for (const pid_t process : here) room += resident_memory(process);
    check_memory_of_all(estimate, here.size(), room, "Start fewer of them on a machine. " + advice);
  }
  return nascent::check_memory(estimate, memory * 1e9, advice);
}

}  // namespace nascent
