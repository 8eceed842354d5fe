// Stationarity on a simplex beside a free block (GAEA, 3.2 and B): proximal points and Bregman stationarity of
//   f(w, theta) = (sum_o theta_o <w_o, x> - y)^2 / 2,
// the smallest mixture of operations that can be learnt, under |w|^2/2 + sum theta log theta.
#pragma once

#include "nascent/analysis/narrow_cell.h"

namespace nascent {

struct MixturePoint {
  Matrix weights;  // a row per operation
  Vector theta;    // on the simplex
};

struct MixtureProblem {
  Vector x;
  double y = 0;

  double residual(const MixturePoint& point) const { return point.theta.dot(point.weights * x) - y; }
  double value(const MixturePoint& point) const { return residual(point) * residual(point) / 2; }
  Matrix weight_gradient(const MixturePoint& point) const { return residual(point) * point.theta * x.transpose(); }
  Vector theta_gradient(const MixturePoint& point) const { return residual(point) * (point.weights * x); }
  // argmin over u of lambda f(u) + D(u | point): by turns in the two blocks, each exactly.
  MixturePoint proximal(const MixturePoint& point, double lambda) const;
  double stationarity(const MixturePoint& point, double lambda) const;
  // The least gamma for which the Hessian + gamma diag(I, 1/theta) has no negative direction on the tangent space.
  double weak_convexity(const MixturePoint& point) const;
};

double kl_divergence(const Vector& a, const Vector& b);
// theta * exp(-step), normalised: the proximal point of a linear function on the simplex, and GAEA's step.
Vector exponentiated_step(const Vector& theta, const Vector& step);
// The point of the simplex nearest to `v`.
Vector simplex_projection(const Vector& v);
// (KL(theta | u) + KL(u | theta)) / lambda^2 for u, the proximal point of <c, theta>.
double linear_stationarity(const Vector& theta, const Vector& c, double lambda);

// The least gamma with `hessian` + gamma `metric` without a negative direction, restricted to the columns of `tangent`.
double least_weak_convexity(const Matrix& hessian, const Matrix& metric, const Matrix& tangent);

}  // namespace nascent
