#include "nascent/kernels/parallel.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <new>
#include <string>
#include <thread>
#include <vector>

namespace nascent::kernels {
namespace {

// How often each index was given out, and whether every thread had a number of its own.
void expect_each_once(int count, int threads) {
  std::vector<std::atomic<int>> visits(count);
  std::vector<std::atomic<bool>> at_work(threads);
  std::atomic<int> shared = 0;
  for_each(count, threads, [&](int index, int thread) {
    if (thread < 0 || thread >= threads || at_work[thread].exchange(true)) ++shared;
    ++visits[index];
    at_work[thread] = false;
  });
  for (int i = 0; i < count; ++i) EXPECT_EQ(visits[i], 1) << i << " of " << count << ", " << threads << " threads";
  EXPECT_EQ(shared, 0) << threads << " threads";
}

TEST(ForEach, GivesOutEveryIndexOnce) {
  for (const int threads : {1, 2, 3, 5, 16, 64}) {
    for (const int count : {0, 1, 2, 7, 64, 1000}) expect_each_once(count, threads);
  }
}

TEST(ForEach, LoopsFollowOneAnotherClosely) {
  int64_t sum = 0;
  for (int loop = 0; loop < 20'000; ++loop) {
    int64_t parts[8] = {};
    for_each(8, 1 + loop % 4, [&](int index, int) { parts[index] = index + loop; });
    for (const int64_t part : parts) sum += part;
  }
  EXPECT_EQ(sum, int64_t{20'000} * 28 + 8 * (int64_t{20'000} * 19'999 / 2));
}

TEST(ForEach, LoopsMayBeWithinAndBesideEachOther) {
  std::vector<std::thread> callers;
  std::atomic<int> visits = 0;
  for (int caller = 0; caller < 4; ++caller) {
    callers.emplace_back([&] {
      for (int loop = 0; loop < 200; ++loop)
        for_each(6, 3, [&](int, int) { for_each(2, 2, [&](int, int) { ++visits; }); });
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(visits, 4 * 200 * 6 * 2);
}

// A forked process has the caller's thread alone: helpers never come.
TEST(ForEach, EndsWithoutHelpersThatDoNotCome) {
  expect_each_once(100, 4);  // from here on there are helpers
  const pid_t child = fork();
  if (child == 0) {
    int visits = 0;
    for_each(100, 4, [&](int, int) { ++visits; });
    _exit(visits == 100 ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(ForEach, WhatAThreadThrowsReachesTheCaller) {
  for (const int threads : {1, 2, 5}) {
    for (int thrower = 0; thrower < 40; ++thrower) {
      const auto work = [&](int index, int) {
        if (index >= thrower) throw std::bad_alloc();
      };
      EXPECT_THROW(for_each(40, threads, work), std::bad_alloc) << threads << " threads";
      expect_each_once(40, threads);
    }
  }
}

// No system has room for such stacks.
TEST(ForEach, DoesWithTheThreadsThatTheSystemGives) {
  pthread_attr_t before, huge;
  ASSERT_EQ(pthread_getattr_default_np(&before), 0);
  ASSERT_EQ(pthread_getattr_default_np(&huge), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&huge, size_t{1} << 50), 0);
  ASSERT_EQ(pthread_setattr_default_np(&huge), 0);
  expect_each_once(500, 400);  // more than any test has asked for before
  ASSERT_EQ(pthread_setattr_default_np(&before), 0);
  pthread_attr_destroy(&before);
  pthread_attr_destroy(&huge);
  expect_each_once(100, 3);
}

// Run by the test below, in a process of its own. Each of the two threads waits until the other has come too.
TEST(ForEach, DISABLED_InPlaces) {
  std::atomic<int> here = 0;
  cpu_set_t cores[2];
  for (cpu_set_t& set : cores) CPU_ZERO(&set);
  for_each(2, 2, [&](int, int thread) {
    ++here;
    for (int wait = 0; here < 2 && wait < 10'000; ++wait) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    sched_getaffinity(0, sizeof cores[thread], &cores[thread]);
  });
  EXPECT_EQ(CPU_COUNT(&cores[0]), 1);
  EXPECT_EQ(CPU_COUNT(&cores[1]), 1);
  EXPECT_FALSE(CPU_EQUAL(&cores[0], &cores[1]));
}

TEST(ForEach, ThreadsAreBoundAsOpenMpIsTold) {
  if (std::thread::hardware_concurrency() < 2) GTEST_SKIP() << "needs two cores";
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  const std::string command = "OMP_PROC_BIND=true OMP_PLACES=threads '" + self +
                              "' --gtest_also_run_disabled_tests --gtest_filter=ForEach.DISABLED_InPlaces > /dev/null";
  EXPECT_EQ(std::system(command.c_str()), 0);
}

TEST(ForEach, CountsTheTimeOfLoopsOfSeveralThreads) {
  const auto nap = [](int, int) { std::this_thread::sleep_for(std::chrono::milliseconds(2)); };
  const LoopTime before = time_in_loops();
  for_each(2, 1, nap);
  EXPECT_EQ(time_in_loops().loops, before.loops);
  for_each(4, 2, nap);
  EXPECT_EQ(time_in_loops().loops, before.loops + 1);
  EXPECT_GE(time_in_loops().seconds, before.seconds + 0.0039);
}

}  // namespace
}  // namespace nascent::kernels
