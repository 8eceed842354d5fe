#include "machine.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

// This file is compiled once per instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bench/machine.cc"
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4)
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace nascent::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::CappedTag<float, 16>;
constexpr int kChains = 10;  // more than the latency of a multiply-add

// Multiply-adds that were done, counted as two operations each. `sink` keeps the compiler from leaving them out.
double multiply_adds(long rounds, float* sink) {
  const D d;
  const auto factor = hn::Set(d, 0.999f), step = hn::Set(d, 0.001f);
  hn::Vec<D> chain[kChains];
  for (auto& value : chain) value = hn::Set(d, 1.0f);
  for (long i = 0; i < rounds; ++i) {
#pragma GCC unroll 16
    for (int k = 0; k < kChains; ++k) chain[k] = hn::MulAdd(chain[k], factor, step);
  }
  auto sum = chain[0];
  for (int k = 1; k < kChains; ++k) sum = hn::Add(sum, chain[k]);
  *sink = hn::GetLane(sum);
  return 2.0 * kChains * static_cast<double>(hn::Lanes(d)) * static_cast<double>(rounds);
}

void triad(const float* b, const float* c, float s, size_t floats, float* a) {
  const D d;
  for (size_t i = 0; i + hn::Lanes(d) <= floats; i += hn::Lanes(d))
    hn::Stream(hn::MulAdd(hn::Set(d, s), hn::LoadU(d, c + i), hn::LoadU(d, b + i)), d, a + i);
}

}  // namespace nascent::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace nascent {

namespace {

HWY_EXPORT(multiply_adds);
HWY_EXPORT(triad);

// The best of a few runs of `work` in all threads at once.
double best_seconds(int threads, const std::function<void(int thread)>& work) {
  double best = 1e9;
  for (int run = 0; run < 5; ++run) {
    const auto start = std::chrono::steady_clock::now();
    std::vector<std::thread> others;
    for (int t = 1; t < threads; ++t) others.emplace_back(work, t);
    work(0);
    for (std::thread& other : others) other.join();
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return best;
}

struct Free {
  void operator()(float* p) const { std::free(p); }
};

}  // namespace

double fma_peak(int threads) {
  constexpr long kRounds = 20'000'000;
  std::vector<float> sinks(static_cast<size_t>(threads) * 64);
  double work = 0;
  const double seconds = best_seconds(threads, [&](int t) {
    const double done = HWY_DYNAMIC_DISPATCH(multiply_adds)(kRounds, &sinks[static_cast<size_t>(t) * 64]);
    if (t == 0) work = done;
  });
  return threads * work / seconds / 1e9;
}

double stream_bandwidth(int threads) {
  const size_t floats = size_t{1} << 25, each = floats / threads / 16 * 16;
  std::vector<std::unique_ptr<float, Free>> arrays;
  for (int i = 0; i < 3; ++i) {
    arrays.emplace_back(static_cast<float*>(std::aligned_alloc(64, floats * sizeof(float))));
    std::fill_n(arrays.back().get(), floats, 1.0f);
  }
  const double seconds = best_seconds(threads, [&](int t) {
    const size_t from = t * each;
    HWY_DYNAMIC_DISPATCH(triad)(arrays[0].get() + from, arrays[1].get() + from, 2.0f, each, arrays[2].get() + from);
  });
  return 3.0 * sizeof(float) * each * threads / seconds / 1e9;
}

}  // namespace nascent
#endif
