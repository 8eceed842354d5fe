#include "nascent/kernels/parallel.h"

#include <omp.h>
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <thread>
#include <utility>
#include <vector>

namespace nascent::kernels {

namespace {

using Clock = std::chrono::steady_clock;
using Work = std::function<void(int index, int thread)>;

std::atomic<int64_t> loops_done = 0, nanoseconds_in_loops = 0;

void breathe() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// Waits until the value is another one, which it returns: awake for as long as falling asleep and being woken would
// take, then asleep, so that a core is free for whoever else can use it.
uint32_t wait_while(const std::atomic<uint32_t>& value, uint32_t same) {
  constexpr std::chrono::microseconds kAwake(5);
  for (const auto start = Clock::now(); Clock::now() - start < kAwake; breathe()) {
    if (const uint32_t now = value.load(std::memory_order_acquire); now != same) return now;
  }
  value.wait(same, std::memory_order_acquire);
  return value.load(std::memory_order_acquire);
}

// Where OpenMP's threads are bound to places (OMP_PROC_BIND, OMP_PLACES), so are these: else they would all stay where
// the first one is.
void go_to_place(int thread) {
  const int places = omp_get_proc_bind() == omp_proc_bind_false ? 0 : omp_get_num_places();
  if (places == 0) return;
  std::vector<int> cores(omp_get_place_num_procs(thread % places));
  omp_get_place_proc_ids(thread % places, cores.data());
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int core : cores) CPU_SET(core, &set);
  pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

// Threads that help whoever has a loop. A helper that the system lets wait for a core holds up nobody: the others do
// its share, and the loop ends without it. (OpenMP's loops end when all threads have come, those too for which there is
// nothing left.)
class Team {
 public:
  // Never destroyed: its threads sleep until the process ends.
  static Team& instance() {
    static Team* team = new Team;
    return *team;
  }

  // False if it is busy with another loop.
  bool run(int count, int threads, const Work& work) {
    if (busy_.test_and_set(std::memory_order_acquire)) return false;
    call_helpers(threads - 1);
    work_ = &work;
    count_ = count;
    next_.store(0, std::memory_order_relaxed);
    entry_.store((threads - 1) * kSeat, std::memory_order_release);
    loops_.fetch_add(1, std::memory_order_release);
    loops_.notify_all();
    take(0);
    constexpr uint32_t kInside = kSeat - 1;
    for (uint32_t left = entry_.fetch_and(kInside, std::memory_order_acq_rel) & kInside; left != 0;)
      left = wait_while(entry_, left);
    const std::exception_ptr failure = std::exchange(failure_, nullptr);
    failed_.clear(std::memory_order_relaxed);
    busy_.clear(std::memory_order_release);
    if (failure) std::rethrow_exception(failure);
    return true;
  }

 private:
  // As many as there can be: where the system gives no more threads, those that are there do the work.
  void call_helpers(int wanted) {
    try {
      for (; helpers_ < wanted; ++helpers_) std::thread(&Team::help, this, helpers_ + 1).detach();
    } catch (const std::exception&) {
    }
  }

  // The first exception ends the loop, and is thrown to who has it.
  void take(int thread) noexcept {
    try {
      for (int i = next_.fetch_add(1, std::memory_order_relaxed); i < count_;
           i = next_.fetch_add(1, std::memory_order_relaxed))
        (*work_)(i, thread);
    } catch (...) {
      if (!failed_.test_and_set(std::memory_order_relaxed)) failure_ = std::current_exception();
      next_.store(count_, std::memory_order_relaxed);
    }
  }

  void help(int helper) {
    go_to_place(helper);
    for (uint32_t seen = 0;;) {
      seen = wait_while(loops_, seen);
      uint32_t entry = entry_.load(std::memory_order_acquire);
      while (entry >= kSeat && !entry_.compare_exchange_weak(entry, entry - kSeat + 1, std::memory_order_acq_rel)) {
      }
      if (entry < kSeat) continue;
      take(static_cast<int>(entry / kSeat));
      if (entry_.fetch_sub(1, std::memory_order_acq_rel) == 1) entry_.notify_one();
    }
  }

  static constexpr uint32_t kSeat = 1 << 16;

  std::atomic_flag busy_;
  int helpers_ = 0;
  // The loop that is on.
  const Work* work_ = nullptr;
  int count_ = 0;
  std::atomic_flag failed_;
  std::exception_ptr failure_;
  alignas(64) std::atomic<int> next_ = 0;
  alignas(64) std::atomic<uint32_t> entry_ = 0;  // helpers inside, and kSeat for each that may still come
  alignas(64) std::atomic<uint32_t> loops_ = 0;  // so far
};

}  // namespace

void for_each(int count, int threads, const Work& work) {
  threads = std::min(threads, count);
  const auto start = Clock::now();
  if (threads > 1 && Team::instance().run(count, threads, work)) {
    ++loops_done;
    nanoseconds_in_loops += std::chrono::nanoseconds(Clock::now() - start).count();
    return;
  }
  for (int i = 0; i < count; ++i) work(i, 0);
}

LoopTime time_in_loops() { return {loops_done, 1e-9 * static_cast<double>(nanoseconds_in_loops)}; }

}  // namespace nascent::kernels
