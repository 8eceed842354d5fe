// Forward selection of 10 of 400 members by running sums, against a new average for every candidate: both in one run,
// medians, name=value at the end.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "nascent/core/random.h"
#include "nascent/ensemble/selection.h"
#include "timing.h"

namespace nascent {
namespace {

constexpr int kMembers = 400, kImages = 10000, kClasses = 10, kWanted = 10;

Probabilities random_member(uint64_t seed, const Labels& labels) {
  Probabilities table{kImages, kClasses, std::vector<float>(size_t{kImages} * kClasses)};
  RandomStream random(seed, "member");
  for (int64_t i = 0; i < kImages; ++i) {
    float sum = 0;
    for (float& p : table.row(i)) sum += p = static_cast<float>(random.uniform());
    float& truth = table.row(i)[static_cast<size_t>(labels[static_cast<size_t>(i)])];
    truth += 2;
    for (float& p : table.row(i)) p /= sum + 2;
  }
  return table;
}

// What a program does that knows no better: the average of all members so far and the candidate, then its loss.
std::vector<size_t> plain_selection(const Members& pool, const Labels& labels, int wanted) {
  std::vector<size_t> chosen;
  std::vector<bool> used(pool.size());
  for (int i = 0; i < wanted; ++i) {
    size_t best = 0;
    double lowest = std::numeric_limits<double>::infinity();
    for (size_t candidate = 0; candidate < pool.size(); ++candidate) {
      if (used[candidate]) continue;
      std::vector<float> mean = pool[candidate].values;
      for (const size_t member : chosen) {
        for (size_t j = 0; j < mean.size(); ++j) mean[j] += pool[member].values[j];
      }
      double loss = 0;
      for (size_t j = 0; j < labels.size(); ++j)
        loss -= std::log(mean[j * kClasses + static_cast<size_t>(labels[j])] / static_cast<float>(chosen.size() + 1));
      if (loss < lowest) {
        lowest = loss;
        best = candidate;
      }
    }
    used[best] = true;
    chosen.push_back(best);
  }
  return chosen;
}

int run() {
  Labels labels;
  for (int i = 0; i < kImages; ++i) labels.push_back(i % kClasses);
  Members pool;
  for (uint64_t i = 0; i < kMembers; ++i) pool.push_back(random_member(i, labels));
  std::vector<double> fast, plain;
  std::vector<size_t> found, expected;
  for (int repeat = 0; repeat < 3; ++repeat) {
    fast.push_back(seconds([&] {
      const SelectionPool candidates(pool, labels, Combination::probabilities);
      found = select_members("forward", {candidates, kWanted}).members;
    }));
    plain.push_back(seconds([&] { expected = plain_selection(pool, labels, kWanted); }));
  }
  if (found != expected) fmt::print("the two selections differ\n");
  fmt::print("running sums {:.3f} s, new averages {:.3f} s\n", median(fast), median(plain));
  fmt::print("forward_select_vs_plain={:.2f}\n", median(plain) / median(fast));
  fmt::print("pool_megabytes={:.0f}\n", kMembers * (kImages * (kClasses + 1.0)) * sizeof(float) / 1e6);
  return found == expected ? 0 : 1;
}

}  // namespace
}  // namespace nascent

int main() { return nascent::run(); }
