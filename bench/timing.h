// Times of benchmarks: by the clock or, where others use the machine too, by the processor.
#pragma once

#include <algorithm>
#include <chrono>
#include <ctime>
#include <functional>
#include <vector>

namespace nascent {

// On a busy machine, the processor time of all threads says more than that of the clock.
inline bool processor_time = false;

inline double now() {
  if (!processor_time)
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

inline double seconds(const std::function<void()>& work) {
  const double start = now();
  work();
  return now() - start;
}

inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace nascent
