// What few runs show, and what they do not: intervals and tests by resampling, which take no distribution for granted.
// Random streams are counter-based: the same numbers give the same answer everywhere.
//
//   const Interval accuracy = bootstrap_mean(accuracies);
//   const PermutationTest test = sign_flip_test(differences);  // seed by seed
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace nascent {

struct Resampling {
  int resamples = 10000;  // of an interval; of a test, where there are too many rearrangements to go through them all
  double level = 0.05;    // what intervals leave out, both sides together
  uint64_t seed = 1;
};

struct Interval {
  double middle = 0, low = 0, high = 0;
  bool contains(double x) const { return low <= x && x <= high; }
};

// The mean, and the percentiles of the means of resamples with replacement. Percentiles alone are too narrow for few
// numbers: the tails are cut where a normal distribution's would be as wide as Student's with n - 1 degrees (Hesterberg
// 2015). Never beyond the smallest and the largest number. Not a number for fewer than two.
Interval bootstrap_mean(std::span<const double> numbers, const Resampling& how = {});
// The same of mean(b) - mean(a), each resampled by itself; the tails are those of the smaller list.
Interval bootstrap_difference(std::span<const double> a, std::span<const double> b, const Resampling& how = {});
// Where one more number is expected: Student's prediction interval, for numbers that are about normal.
Interval prediction_interval(std::span<const double> numbers, double level = 0.05);

struct PermutationTest {
  double p = 1;        // two-sided
  double least = 1;    // the smallest p that so many numbers can give
  bool exact = false;  // all rearrangements, or as many random ones as resamples
};

// Are differences as likely to be positive as negative? Of all ways to choose their signs, the part whose mean is at
// least as far from zero.
PermutationTest sign_flip_test(std::span<const double> differences, const Resampling& how = {});
// Could the numbers of two lists have stood in either? Of all ways to deal them out, the part whose means are at least
// as far apart.
PermutationTest permutation_test(std::span<const double> a, std::span<const double> b, const Resampling& how = {});

// How many ways there are to choose k of n.
double ways_to_choose(size_t k, size_t n);

// p-values of several comparisons so that the chance of any false one stays that of a single one (Holm 1979).
std::vector<double> holm(std::span<const double> p);

}  // namespace nascent
