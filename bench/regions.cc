#include "regions.h"

#include <dlfcn.h>
#include <omp.h>

#include <chrono>

#include "nascent/kernels/parallel.h"

namespace {

using Clock = std::chrono::steady_clock;

nascent::Regions of_openmp;

}  // namespace

// What GCC makes of `#pragma omp parallel`. Zero threads: as many as are usual.
extern "C" void GOMP_parallel(void (*work)(void*), void* data, unsigned threads, unsigned flags) {
  static const auto original = reinterpret_cast<decltype(&GOMP_parallel)>(dlsym(RTLD_NEXT, "GOMP_parallel"));
  const bool several = !omp_in_parallel() && (threads == 0 ? omp_get_max_threads() > 1 : threads > 1);
  const auto start = Clock::now();
  original(work, data, threads, flags);
  if (!several) return;
  of_openmp.seconds += std::chrono::duration<double>(Clock::now() - start).count();
  ++of_openmp.count;
}

namespace nascent {

Regions parallel_regions() {
  const kernels::LoopTime loops = kernels::time_in_loops();
  return {of_openmp.count + static_cast<double>(loops.loops), of_openmp.seconds + loops.seconds};
}

double predicted_speedup(double share_outside, int threads, int cores) {
  return 1 / (share_outside + (1 - share_outside) * threads / cores);
}

}  // namespace nascent
