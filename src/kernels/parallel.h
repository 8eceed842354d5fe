// Loops over images, shared among threads.
#pragma once

#include <cstdint>
#include <functional>

namespace nascent::kernels {

// Calls work(index, thread) for every index below `count`, each as soon as a thread is free, so a core that something
// else slows down takes fewer. What work() does must not depend on the thread. A loop within a loop, or beside another
// one, is the caller's alone. What work() throws, this throws, when nobody works any more; not all indices have had
// their turn then.
void for_each(int count, int threads, const std::function<void(int index, int thread)>& work);

// What the process has done in loops of several threads. The rest of a step does not get shorter with more of them.
struct LoopTime {
  int64_t loops = 0;
  double seconds = 0;
};
LoopTime time_in_loops();

}  // namespace nascent::kernels
