// How much memory a step will take, before anything is built.
#pragma once

#include <cstdint>
#include <string>

#include "nascent/nn/engine.h"
#include "nascent/space/plan.h"

namespace nascent {

struct MemoryEstimate {
  double weights = 0;      // bytes: parameters, their gradients and what optimisers keep
  double activations = 0;  // what the forward pass keeps for the backward one
  double working = 0;      // what the backward pass of the largest cell needs besides
  double total() const { return weights + activations + working; }
};

// Of a training step with `batch` images. `running` is how many candidates of a site run at once, 0: all. `copies` is
// how many numbers are kept per parameter: itself, its gradient, a velocity, ...
MemoryEstimate estimate_memory(const NetworkPlan& plan, int batch, Engine engine, int running = 0, int copies = 3);

// Bytes that a process can still take: what the system has available, or less where the process is limited.
double available_memory();

// "2.9 GB". An Error with the estimate, the limit and `advice` where it does not fit; `limit` 0: available_memory().
std::string check_memory(const MemoryEstimate& estimate, double limit, const std::string& advice);

}  // namespace nascent
