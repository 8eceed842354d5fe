// How training-free metrics agree with test errors and with one another (thesis 7.5 and 7.6).
#pragma once

#include <string>
#include <vector>

namespace nascent {

struct Agreement {
  double spearman = 0, kendall = 0;
};

// Of the bounds on the generalisation error in section 7.3.3 with the test errors; more is better.
struct BoundAgreement {
  Agreement realisable;   // 1 / M
  Agreement trade_off;    // 1 / M + mu (M^2 - nu)^2
  Agreement with_kappa;   // kappa / M
  Agreement whole;        // kappa / M + mu (M^2 - nu)^2: the non-realisable scenario (7.7)
  double mu = 0, nu = 0;  // of `whole`
};

// mu and nu are those with the highest Spearman correlation among mu = 0 and `tries` pairs: mu log-uniform from
// where the largest M alone feels it to where the second term is all, nu a quantile of M^2. What is not finite counts
// as largest.
BoundAgreement bound_agreement(const std::vector<double>& metric, const std::vector<double>& kappa,
                               const std::vector<double>& errors, int tries, uint64_t seed);

// A metric as the thesis takes it: positive. GraSP by its magnitude, SynFlow not as a logarithm.
double as_bound(const std::string& metric, double value);

}  // namespace nascent
