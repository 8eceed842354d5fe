// Time in parallel regions: the engine's loops, and what LibTorch and BLAS do with OpenMP.
#pragma once

namespace nascent {

// Regions of several threads that the process has passed through, and the time they took by the clock. A program with
// this in it answers calls of OpenMP's library for regions, and passes them on.
struct Regions {
  double count = 0, seconds = 0;
};
Regions parallel_regions();

// By Amdahl's law: how many times faster than on `threads` cores a step is on `cores` of them if it spends such a share
// of its time outside parallel regions, and these divide their work perfectly.
double predicted_speedup(double share_outside, int threads, int cores);

}  // namespace nascent
