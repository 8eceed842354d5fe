#include "nascent/core/cores.h"

#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <thread>

namespace nascent {
namespace {

// Then OpenMP has bound this very thread to one place of many, which says nothing of the process.
bool openmp_binds() {
  const char* bind = std::getenv("OMP_PROC_BIND");
  if (bind != nullptr) return std::string_view(bind) != "false" && std::string_view(bind) != "FALSE";
  return std::getenv("OMP_PLACES") != nullptr || std::getenv("GOMP_CPU_AFFINITY") != nullptr;
}

}  // namespace

Cores usable_cores() {
  Cores cores;
  cpu_set_t set;
  CPU_ZERO(&set);
  const bool known = !openmp_binds() && sched_getaffinity(0, sizeof set, &set) == 0;
  const size_t machine = std::max(1u, std::thread::hardware_concurrency());
  for (size_t core = 0; core < cores.size(); ++core) cores[core] = known ? CPU_ISSET(core, &set) : core < machine;
  return cores;
}

int count(const Cores& cores) { return std::max(1, static_cast<int>(cores.count())); }

}  // namespace nascent
