// Student's t test of paired differences: is one of two methods better, seed by seed?
#pragma once

#include <vector>

namespace nascent {

struct PairedTest {
  int pairs = 0;
  double difference = 0;  // mean of the differences
  double deviation = 0;   // of the differences
  double t = 0, p = 1;    // two-sided; p is 1 where all differences are zero, 0 where all are equal and not zero
};

// Of at least two differences.
PairedTest paired_test(const std::vector<double>& differences);

// Mean, and the deviation with n - 1 below the line (0 of a single number).
struct MeanAndDeviation {
  double mean = 0, deviation = 0;
};
MeanAndDeviation mean_and_deviation(const std::vector<double>& numbers);

// Probability that |T| of Student's distribution exceeds |t|.
double two_sided_p(double t, double degrees);

}  // namespace nascent
