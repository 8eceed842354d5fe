// HNAS (Algorithm 7.1 of Shu's thesis): training-free metrics of a pool of architectures, known beforehand, name a
// candidate for every pair (mu, nu) by
//
//   argmin over A of  kappa(A) / M(A) + mu (M(A)^2 - nu)^2                                      (7.7, t = 1)
//
// and Bayesian optimisation of (mu, nu) spends its steps on validating candidates only. How they are validated is the
// caller's affair: by a table, or by training.
//
//   Hnas hnas(pool, options);
//   while (const auto candidate = hnas.propose()) hnas.tell(validate(*candidate));
//   hnas.best();
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "nascent/core/random.h"
#include "nascent/search/black_box/gaussian_process.h"

namespace nascent {

// Metric and condition number of an architecture; it is known by its place in the pool.
struct PoolEntry {
  double metric = 0, kappa = 0;
};

struct HnasOptions {
  std::string acquisition = "ei";  // or "ucb"
  double ucb_width = 2;            // deviations above the mean
  int initial = 5;                 // points drawn at random before the process is trusted
  uint64_t seed = 1;
};

class Hnas {
 public:
  // Architectures whose metric or condition number is not positive and finite are never proposed. An Error where none
  // is left.
  Hnas(const std::vector<PoolEntry>& pool, HnasOptions options);

  // The place in the pool of an architecture that was not validated yet; nothing where no (mu, nu) that was looked at
  // names one.
  std::optional<size_t> propose();
  // The (mu, nu) that named what was proposed last.
  std::pair<double, double> parameters() const { return parameters_at(last_point_); }
  // The validation accuracy of what was proposed last.
  void tell(double accuracy);
  // The best architecture validated so far.
  size_t best() const;

  // The place in the pool of what the objective names.
  size_t candidate(double mu, double nu) const;
  // Makes both terms of the objective about as large: mu is searched on a logarithmic scale around it.
  double typical_mu() const { return typical_mu_; }
  // (mu, nu) of a point of the unit square that the optimisation works in.
  std::pair<double, double> parameters_at(const Vector& point) const;
  size_t usable() const { return usable_.size(); }

 private:
  struct Usable {
    size_t place;
    double square, ratio;  // M^2 and kappa / M
  };
  std::vector<Vector> points_by_acquisition();
  std::optional<size_t> unknown_candidate(const Vector& point) const;

  HnasOptions options_;
  RandomStream random_;
  std::vector<Usable> usable_;
  Vector squares_;  // M^2, ascending
  double typical_mu_ = 1;
  std::map<size_t, double> known_;  // accuracy by place
  std::vector<Vector> points_;      // validated, in the unit square
  Vector accuracies_;
  Vector last_point_;
  size_t last_ = 0;
  GpParameters parameters_;
};

}  // namespace nascent
