// How two lists of numbers go together. Each is NaN where it is not defined: fewer than two pairs, a list of equal
// numbers, or a number that is not finite.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace nascent {

// Linear correlation.
double pearson(std::span<const double> a, std::span<const double> b);
// Linear correlation of the ranks; equal numbers share the mean of their ranks.
double spearman(std::span<const double> a, std::span<const double> b);
// Kendall's tau-b, which allows for ties, in O(n log n) (Knight 1966).
double kendall(std::span<const double> a, std::span<const double> b);

// How far two lists agree on which numbers are the smallest (agreement-k): the part of the smallest `share` of `a` that
// is among the smallest `share` of `b`; of equal numbers the first count as smaller.
struct TopAgreement {
  double value = 0;
  double chance = 0;  // what unrelated lists come to: the size of the sets over the size of the lists
};
TopAgreement top_agreement(std::span<const double> a, std::span<const double> b, double share);

// The probability that a statistic of the two lists is at least as large where `b` is shuffled: (1 + count) / (1 +
// permutations). NaN where the statistic is.
using PairStatistic = std::function<double(std::span<const double>, std::span<const double>)>;
double permutation_p(const PairStatistic& statistic, std::span<const double> a, std::span<const double> b,
                     int permutations, uint64_t seed);

// Ranks from 1 up, the smallest number first; equal numbers share the mean of theirs.
std::vector<double> ranks(std::span<const double> numbers);

}  // namespace nascent
