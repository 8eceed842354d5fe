#include "nascent/train/run_options.h"

#include "nascent/nn/engine.h"
#include "nascent/nn/memory_estimate.h"
#include "nascent/nn/threads.h"

namespace nascent {

void RunOptions::declare_computing(OptionTable& table) {
  auto section = table.section("run", "Where and how a run happens.");
  section.add("seed", seed, "random seed; the same seed and number of threads give the same result").at_least(0);
  section.add("threads", threads, "threads that compute; 0: one per core").range(0, 1024);
  section.add("engine", engine, "how cells are computed: by fused kernels or by LibTorch's plain operations")
      .one_of({"fused", "reference"});
}

void RunOptions::declare(OptionTable& table) {
  declare_computing(table);
  auto section = table.section("run", "");
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

}  // namespace nascent
