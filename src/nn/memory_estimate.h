// How much memory a step will take, before anything is built.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "nascent/nn/engine.h"
#include "nascent/space/plan.h"

namespace nascent {

struct MemoryEstimate {
  double weights = 0;      // bytes: parameters, their gradients, what optimisers keep, and the engine's copies
  double activations = 0;  // what the forward pass keeps for the backward one
  double working = 0;      // what is needed besides where most is in use at once
  double process = 0;      // what the process holds already: its libraries and data
  double step() const { return weights + activations + working; }
  double total() const { return process + step(); }
};

// Of a training step with `batch` images. `running` is how many candidates of a site run at once, 0: all. `copies` is
// how many numbers are kept per parameter: itself, its gradient, a velocity, ... Cells are lowered as the engine will
// lower them, so nothing is guessed of what it keeps.
MemoryEstimate estimate_memory(const NetworkPlan& plan, int batch, Engine engine, int running = 0, int copies = 3);

// Bytes of a process that are in memory now; 0: of this one. What is not known counts as none.
double resident_memory(pid_t process = 0);

// Bytes that the processes of this machine, or of a group of limited memory, can still take together.
double free_memory();
// The same for this one, which may have a limit of its own.
double available_memory();

// "2.9 GB", all that the process will take. An Error with the estimate, the limit and `advice` where it does not fit;
// `limit` 0: what the process holds and available_memory().
std::string check_memory(const MemoryEstimate& estimate, double limit, const std::string& advice);
// An Error where several processes that take as much each do not fit into `room` together.
void check_memory_of_all(const MemoryEstimate& estimate, size_t processes, double room, const std::string& advice);

}  // namespace nascent
