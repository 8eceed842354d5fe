#include "nascent/core/correlation.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>

#include "nascent/core/random.h"

namespace nascent {

namespace {

constexpr double kUndefined = std::numeric_limits<double>::quiet_NaN();

using Span = std::span<const double>;

bool comparable(Span a, Span b) {
  assert(a.size() == b.size());
  const auto finite = [](double x) { return std::isfinite(x); };
  return a.size() >= 2 && std::all_of(a.begin(), a.end(), finite) && std::all_of(b.begin(), b.end(), finite);
}

double mean(Span numbers) { return std::accumulate(numbers.begin(), numbers.end(), 0.0) / numbers.size(); }

// Pairs among `n` things.
double pairs(int64_t n) { return 0.5 * static_cast<double>(n) * static_cast<double>(n - 1); }

// Pairs within the runs of neighbours that `same` joins.
template <class Same>
double tied_pairs(size_t n, Same same) {
  double tied = 0;
  for (size_t start = 0; start < n;) {
    size_t end = start + 1;
    while (end < n && same(end - 1, end)) ++end;
    tied += pairs(static_cast<int64_t>(end - start));
    start = end;
  }
  return tied;
}

// Sorts and counts the pairs that were in descending order: a merge sort.
int64_t sort_and_count(std::span<double> numbers, std::span<double> scratch) {
  if (numbers.size() < 2) return 0;
  const size_t half = numbers.size() / 2;
  int64_t descents = sort_and_count(numbers.first(half), scratch) + sort_and_count(numbers.subspan(half), scratch);
  size_t left = 0, right = half, out = 0;
  while (left < half && right < numbers.size()) {
    if (numbers[right] < numbers[left]) {
      descents += static_cast<int64_t>(half - left);
      scratch[out++] = numbers[right++];
    } else {
      scratch[out++] = numbers[left++];
    }
  }
  while (left < half) scratch[out++] = numbers[left++];
  std::copy_n(scratch.begin(), out, numbers.begin());  // what is left of the right half is in its place
  return descents;
}

}  // namespace

double pearson(Span a, Span b) {
  if (!comparable(a, b)) return kUndefined;
  const double mean_a = mean(a), mean_b = mean(b);
  double aa = 0, bb = 0, ab = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double da = a[i] - mean_a, db = b[i] - mean_b;
    aa += da * da;
    bb += db * db;
    ab += da * db;
  }
  // The mean of equal numbers may differ from them in the last bit.
  const auto constant = [](Span s) { return std::all_of(s.begin(), s.end(), [&](double x) { return x == s[0]; }); };
  if (constant(a) || constant(b)) return kUndefined;
  return std::clamp(ab / (std::sqrt(aa) * std::sqrt(bb)), -1.0, 1.0);
}

std::vector<double> ranks(Span numbers) {
  std::vector<size_t> order(numbers.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](size_t i, size_t j) { return numbers[i] < numbers[j]; });
  std::vector<double> ranks(numbers.size());
  for (size_t start = 0; start < order.size();) {
    size_t end = start + 1;
    while (end < order.size() && numbers[order[end]] == numbers[order[start]]) ++end;
    for (size_t i = start; i < end; ++i) ranks[order[i]] = 0.5 * static_cast<double>(start + 1 + end);
    start = end;
  }
  return ranks;
}

double spearman(Span a, Span b) {
  if (!comparable(a, b)) return kUndefined;
  return pearson(ranks(a), ranks(b));
}

double kendall(Span a, Span b) {
  if (!comparable(a, b)) return kUndefined;
  const size_t n = a.size();
  std::vector<size_t> order(n);
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](size_t i, size_t j) {
    return a[i] != a[j] ? a[i] < a[j] : b[i] < b[j];  // ties in a are then no descents of b
  });
  std::vector<double> sorted(n), scratch(n);
  for (size_t i = 0; i < n; ++i) sorted[i] = b[order[i]];
  const auto same_a = [&](size_t i, size_t j) { return a[order[i]] == a[order[j]]; };
  const double tied_a = tied_pairs(n, same_a);
  const double tied_both =
      tied_pairs(n, [&](size_t i, size_t j) { return same_a(i, j) && b[order[i]] == b[order[j]]; });
  const auto discordant = static_cast<double>(sort_and_count(sorted, scratch));
  const double tied_b = tied_pairs(n, [&](size_t i, size_t j) { return sorted[i] == sorted[j]; });
  const double all = pairs(static_cast<int64_t>(n));
  if (tied_a == all || tied_b == all) return kUndefined;
  const double concordant = all - tied_a - tied_b + tied_both - discordant;
  return (concordant - discordant) / (std::sqrt(all - tied_a) * std::sqrt(all - tied_b));
}

namespace {

// Which numbers are among the `count` smallest.
std::vector<bool> smallest(Span numbers, size_t count) {
  std::vector<size_t> order(numbers.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](size_t i, size_t j) { return numbers[i] < numbers[j]; });
  std::vector<bool> chosen(numbers.size());
  for (size_t i = 0; i < count; ++i) chosen[order[i]] = true;
  return chosen;
}

}  // namespace

TopAgreement top_agreement(Span a, Span b, double share) {
  if (!comparable(a, b)) return {kUndefined, kUndefined};
  const auto n = static_cast<double>(a.size());
  const double count = std::clamp(std::round(share * n), 1.0, n);
  const auto top_a = smallest(a, static_cast<size_t>(count)), top_b = smallest(b, static_cast<size_t>(count));
  double both = 0;
  for (size_t i = 0; i < a.size(); ++i) both += top_a[i] && top_b[i];
  return {both / count, count / n};
}

double permutation_p(const PairStatistic& statistic, Span a, Span b, int permutations, uint64_t seed) {
  const double observed = statistic(a, b);
  if (!std::isfinite(observed)) return kUndefined;
  std::vector<double> shuffled(b.size());
  int as_large = 1;
  for (int i = 0; i < permutations; ++i) {
    RandomStream random(seed, "permutation test", {static_cast<uint64_t>(i)});
    const auto order = random.permutation(static_cast<int64_t>(b.size()));
    for (size_t j = 0; j < b.size(); ++j) shuffled[j] = b[static_cast<size_t>(order[j])];
    as_large += statistic(a, shuffled) >= observed - 1e-12;  // sums in another order differ in the last bits
  }
  return static_cast<double>(as_large) / (permutations + 1);
}

}  // namespace nascent
