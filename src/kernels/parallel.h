// Loops over images, shared among the threads that LibTorch's loops use too.
#pragma once

#include <functional>

namespace nascent::kernels {

// Calls work(index, thread) for every index below `count`, each as soon as a thread is free, so a core that something
// else slows down takes fewer. What work() does must not depend on the thread..
void for_each(int count, int threads, const std::function<void(int index, int thread)>& work);

}  // namespace nascent::kernels
