#include "nascent/core/cores.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <cstdlib>

namespace nascent {
namespace {

TEST(Cores, AreThoseThatTheProcessIsBoundTo) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  const Cores all = usable_cores();
  EXPECT_EQ(count(all), CPU_COUNT(&before));
  int last = 0;
  for (int core = 0; core < CPU_SETSIZE; ++core) last = CPU_ISSET(core, &before) ? core : last;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(last, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  const Cores bound = usable_cores();
  // OpenMP binds the thread that asks to one place, and the process has the others still.
  setenv("OMP_PROC_BIND", "true", 1);
  const Cores by_openmp = usable_cores();
  unsetenv("OMP_PROC_BIND");
  sched_setaffinity(0, sizeof before, &before);
  EXPECT_EQ(bound, Cores().set(static_cast<size_t>(last)));
  EXPECT_GE(by_openmp.count(), all.count());
}

}  // namespace
}  // namespace nascent
