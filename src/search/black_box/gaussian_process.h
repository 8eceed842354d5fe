// Regression by a Gaussian process with the Matérn 5/2 kernel and one length scale per dimension; and what Bayesian
// optimisation asks of it.
//
//   const auto process = GaussianProcess::fitted(points, values, random);
//   const auto [mean, deviation] = process.predict({0.3, 0.7});
//   expected_improvement({mean, deviation}, best);
#pragma once

#include <vector>

#include "nascent/core/random.h"

namespace nascent {

using Vector = std::vector<double>;

// Of the kernel signal * matern52(|x - x'| / length), and of independent noise. Both variances.
struct GpParameters {
  double signal = 1;
  Vector lengths{};
  double noise = 1e-3;
};

struct Prediction {
  double mean = 0, deviation = 0;  // of the function, without noise
};

class GaussianProcess {
 public:
  // Prior mean 0. All points have as many dimensions as there are lengths.
  GaussianProcess(std::vector<Vector> points, Vector values, GpParameters parameters);

  // Parameters that maximise the marginal likelihood of the standardised values, found by gradient ascent within bounds
  // from `start` or, where it has no lengths, from ordinary ones, and from `random_starts` others. Points should lie in
  // the unit cube.
  static GaussianProcess fitted(const std::vector<Vector>& points, Vector values, RandomStream& random,
                                const GpParameters& start = {}, int random_starts = 3);

  Prediction predict(const Vector& point) const;
  // Of the values as the constructor was given them; of standardised ones where fitted.
  double log_likelihood() const;
  // Its derivatives by the logarithms of signal, lengths and noise, in this order.
  Vector likelihood_gradient() const;
  const GpParameters& parameters() const { return parameters_; }

 private:
  size_t size() const { return points_.size(); }
  double kernel(const Vector& a, const Vector& b) const;

  std::vector<Vector> points_;
  Vector values_;
  GpParameters parameters_;
  Vector factor_;   // lower Cholesky factor of the covariance, row by row
  Vector weights_;  // covariance^-1 values
  double shift_ = 0, scale_ = 1;
};

// How much a point is expected to exceed `best`.
double expected_improvement(const Prediction& prediction, double best);
double upper_confidence_bound(const Prediction& prediction, double kappa);

}  // namespace nascent
