// The coefficient delta of SVGD-RD: a number, the best of a grid, or found by Bayesian optimisation (thesis, 5.3.4).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace nascent {

constexpr double kLeastDelta = -2, kMostDelta = 1;

struct DeltaTrial {
  double delta = 0, loss = 0;
};

// "grid": -2 to 1 by 0.5; "bo": ten evaluations in [-2, 1], the ends and the middle first, then where a Gaussian
// process expects most improvement; otherwise a number. An Error where it is none of these. Calls `loss` for each and
// returns the trials in order; the caller takes the lowest.
std::vector<DeltaTrial> search_delta(const std::string& how, const std::function<double(double delta)>& loss,
                                     uint64_t seed);
// An Error where `how` is nothing that search_delta knows.
void check_delta(const std::string& how);

}  // namespace nascent
