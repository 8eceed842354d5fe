// How large a difference must be for a permutation test to see it in four of five experiments with so many runs:
// without that, a difference that is not significant says nothing. Where there are few runs such a test has few
// p-values, and sees less than Student's, whose power has a formula; so experiments are simulated.
//
//   const double seen = detectable_by_signs(10, deviation, 0.05);  // ten pairs, whose differences deviate by so much
#pragma once

#include <cstddef>
#include <cstdint>

namespace nascent {

struct PowerSimulation {
  double power = 0.8;  // the part of the experiments in which the difference is to be seen
  int experiments = 500;
  uint64_t seed = 1;
};

// The smallest true difference that sign_flip_test() sees at this level, of pairs whose differences are normal with
// this deviation; infinite where so few pairs never show any.
double detectable_by_signs(size_t pairs, double deviation, double level, const PowerSimulation& how = {});

struct NormalList {
  size_t count = 0;
  double deviation = 0;
};
// The same of permutation_test(), for two lists of normal numbers.
double detectable_by_deals(const NormalList& a, const NormalList& b, double level, const PowerSimulation& how = {});

}  // namespace nascent
