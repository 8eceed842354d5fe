#include "nascent/core/resampling.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "nascent/core/paired_test.h"
#include "nascent/core/random.h"

namespace nascent {
namespace {

using Numbers = std::span<const double>;

constexpr double kUndefined = std::numeric_limits<double>::quiet_NaN();
constexpr double kMostRearrangements = 1 << 20;

double mean_of(Numbers numbers) {
  return std::accumulate(numbers.begin(), numbers.end(), 0.0) / static_cast<double>(numbers.size());
}

double normal_below(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }

// Where `falling` crosses `wanted`, between 0 and wherever it ends up below.
template <class Function>
double crossing(Function falling, double wanted) {
  double low = 0, high = 1;
  while (falling(high) > wanted && high < 1e300) high *= 2;
  for (int i = 0; i < 200 && high - low > 1e-14 * high; ++i) {
    const double middle = 0.5 * (low + high);
    (falling(middle) > wanted ? low : high) = middle;
  }
  return 0.5 * (low + high);
}

// What |T| exceeds with this probability.
double student_quantile(double level, double degrees) {
  return crossing([&](double t) { return two_sided_p(t, degrees); }, level);
}

// The part of the resamples that one tail of a percentile interval leaves out.
double tail_of(size_t n, double level) {
  const auto count = static_cast<double>(n);
  return normal_below(-student_quantile(level, count - 1) * std::sqrt(count / (count - 1)));
}

double resampled_mean(Numbers numbers, RandomStream& random) {
  const auto n = static_cast<int64_t>(numbers.size());
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += numbers[static_cast<size_t>(random.below(n))];
  return sum / static_cast<double>(n);
}

Interval percentiles(double middle, std::vector<double> means, double tail) {
  std::sort(means.begin(), means.end());
  const auto out = static_cast<size_t>(tail * static_cast<double>(means.size()));
  return {middle, means[out], means[means.size() - 1 - out]};
}

// Sums in another order differ in the last bits.
double a_little_below(double observed, double largest) { return observed - 1e-12 * largest; }

double largest_of(Numbers numbers) {
  double largest = 0;
  for (const double x : numbers) largest = std::max(largest, std::abs(x));
  return largest * static_cast<double>(numbers.size());
}

// Ways to choose the signs of numbers[i] and those after it so that the sum is at least as far from zero.
double count_signs(Numbers numbers, size_t i, double sum, double as_far) {
  if (i == numbers.size()) return std::abs(sum) >= as_far ? 1 : 0;
  return count_signs(numbers, i + 1, sum + numbers[i], as_far) + count_signs(numbers, i + 1, sum - numbers[i], as_far);
}

// Two lists, dealt out anew: how far their means are apart depends on the sum of the first only.
struct Deal {
  std::vector<double> all;
  size_t first = 0;  // so many go to the first list
  double total = 0;

  Deal(Numbers a, Numbers b) : all(a.begin(), a.end()), first(a.size()) {
    all.insert(all.end(), b.begin(), b.end());
    total = std::accumulate(all.begin(), all.end(), 0.0);
  }
  double apart(double sum) const {
    return std::abs(sum / static_cast<double>(first) - (total - sum) / static_cast<double>(all.size() - first));
  }
  // Ways to choose `left` more of all[i] and those after it.
  double count(size_t i, size_t left, double sum, double as_far) const {
    if (left == 0) return apart(sum) >= as_far ? 1 : 0;
    const double with = count(i + 1, left - 1, sum + all[i], as_far);
    return all.size() - i > left ? with + count(i + 1, left, sum, as_far) : with;
  }
};

// p of random rearrangements, the observed one among them.
template <class AsFar>
PermutationTest by_chance(const Resampling& how, AsFar as_far) {
  int count = 1;
  for (int i = 0; i < how.resamples; ++i) {
    RandomStream random(how.seed, "rearrangement", {static_cast<uint64_t>(i)});
    count += as_far(random) ? 1 : 0;
  }
  return {count / (how.resamples + 1.0), 1 / (how.resamples + 1.0), false};
}

}  // namespace

double ways_to_choose(size_t k, size_t n) {
  double ways = 1;
  for (size_t i = 1; i <= k; ++i) ways = ways * static_cast<double>(n - k + i) / static_cast<double>(i);
  return std::round(ways);
}

Interval bootstrap_mean(Numbers numbers, const Resampling& how) {
  if (numbers.empty()) return {kUndefined, kUndefined, kUndefined};
  const double mean = mean_of(numbers);
  if (numbers.size() < 2) return {mean, kUndefined, kUndefined};
  std::vector<double> means;
  for (int i = 0; i < how.resamples; ++i) {
    RandomStream random(how.seed, "bootstrap", {static_cast<uint64_t>(i)});
    means.push_back(resampled_mean(numbers, random));
  }
  return percentiles(mean, std::move(means), tail_of(numbers.size(), how.level));
}

Interval bootstrap_difference(Numbers a, Numbers b, const Resampling& how) {
  if (a.empty() || b.empty()) return {kUndefined, kUndefined, kUndefined};
  const double difference = mean_of(b) - mean_of(a);
  const size_t smaller = std::min(a.size(), b.size());
  if (smaller < 2) return {difference, kUndefined, kUndefined};
  std::vector<double> differences;
  for (int i = 0; i < how.resamples; ++i) {
    RandomStream random(how.seed, "bootstrap", {static_cast<uint64_t>(i)});
    const double first = resampled_mean(a, random);
    differences.push_back(resampled_mean(b, random) - first);
  }
  return percentiles(difference, std::move(differences), tail_of(smaller, how.level));
}

Interval prediction_interval(Numbers numbers, double level) {
  const auto [mean, deviation] = mean_and_deviation({numbers.begin(), numbers.end()});
  if (numbers.size() < 2) return {numbers.empty() ? kUndefined : mean, kUndefined, kUndefined};
  const auto n = static_cast<double>(numbers.size());
  const double half = student_quantile(level, n - 1) * deviation * std::sqrt(1 + 1 / n);
  return {mean, mean - half, mean + half};
}

PermutationTest sign_flip_test(Numbers differences, const Resampling& how) {
  if (differences.empty()) return {};
  const double observed = std::abs(std::accumulate(differences.begin(), differences.end(), 0.0));
  const double as_far = a_little_below(observed, largest_of(differences));
  const double ways = std::pow(2.0, static_cast<double>(differences.size()));
  if (ways <= kMostRearrangements) {
    return {count_signs(differences, 0, 0, as_far) / ways, std::min(1.0, 2 / ways), true};
  }
  return by_chance(how, [&](RandomStream& random) {
    double sum = 0;
    for (const double x : differences) sum += random.below(2) ? x : -x;
    return std::abs(sum) >= as_far;
  });
}

PermutationTest permutation_test(Numbers a, Numbers b, const Resampling& how) {
  if (a.empty() || b.empty()) return {};
  Deal deal(a, b);
  const double as_far = a_little_below(deal.apart(std::accumulate(a.begin(), a.end(), 0.0)), largest_of(deal.all));
  const double ways = ways_to_choose(std::min(a.size(), b.size()), deal.all.size());
  if (ways <= kMostRearrangements) {
    const double least = (a.size() == b.size() ? 2 : 1) / ways;  // lists of one length can change places
    return {deal.count(0, a.size(), 0, as_far) / ways, least, true};
  }
  return by_chance(how, [&](RandomStream& random) {
    double sum = 0;
    for (size_t i = 0; i < a.size(); ++i) {
      const auto other = i + static_cast<size_t>(random.below(static_cast<int64_t>(deal.all.size() - i)));
      std::swap(deal.all[i], deal.all[other]);
      sum += deal.all[i];
    }
    return deal.apart(sum) >= as_far;
  });
}

std::vector<double> holm(Numbers p) {
  std::vector<size_t> order(p.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](size_t i, size_t j) { return p[i] < p[j]; });
  std::vector<double> corrected(p.size());
  double largest = 0;
  for (size_t rank = 0; rank < order.size(); ++rank) {
    largest = std::max(largest, std::min(1.0, static_cast<double>(p.size() - rank) * p[order[rank]]));
    corrected[order[rank]] = largest;
  }
  return corrected;
}

}  // namespace nascent
