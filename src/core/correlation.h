// How two lists of numbers go together. Each is NaN where it is not defined: fewer than two pairs, a list of equal
// numbers, or a number that is not finite.
#pragma once

#include <span>
#include <vector>

namespace nascent {

// Linear correlation.
double pearson(std::span<const double> a, std::span<const double> b);
// Linear correlation of the ranks; equal numbers share the mean of their ranks.
double spearman(std::span<const double> a, std::span<const double> b);
// Kendall's tau-b, which allows for ties, in O(n log n) (Knight 1966).
double kendall(std::span<const double> a, std::span<const double> b);

// Ranks from 1 up, the smallest number first; equal numbers share the mean of theirs.
std::vector<double> ranks(std::span<const double> numbers);

}  // namespace nascent
