// Where and how a run happens: seed, threads, engine, precision, memory, folder, checkpoints.
#pragma once

#include <cstdint>
#include <string>

#include "nascent/core/options.h"
#include "nascent/space/plan.h"

namespace nascent {

// "precision" of section "run".
void declare_precision(OptionTable& table, std::string& precision);

struct RunOptions {
  int64_t seed = 1;
  int threads = 0;  // 0: one per core
  std::string engine = "fused";
  std::string precision = "float";
  double memory = 0;  // GB; 0: what is available
  std::string out{};  // "": a new folder under runs/
  bool overwrite = false;
  double checkpoint_seconds = 60;
  int64_t checkpoint_steps = 0;  // 0: by time only

  void declare(OptionTable& table);            // section "run"
  void declare_computing(OptionTable& table);  // only what computing needs: seed, threads, engine
  void apply() const;                          // sets the number of threads, the engine and its precision
  // What a step of the network will take, for people to read; an Error where that is too much.
  std::string check_memory(const NetworkPlan& plan, int batch, int running = 0) const;
};

}  // namespace nascent
