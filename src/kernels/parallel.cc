#include "nascent/kernels/parallel.h"

#include <omp.h>

#include <algorithm>

namespace nascent::kernels {

void for_each(int count, int threads, const std::function<void(int index, int thread)>& work) {
  threads = std::min(threads, count);
  if (threads <= 1) {
    for (int i = 0; i < count; ++i) work(i, 0);
    return;
  }
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1)
  for (int i = 0; i < count; ++i) work(i, omp_get_thread_num());
}

}  // namespace nascent::kernels
