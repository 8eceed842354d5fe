#include "nascent/analysis/bregman.h"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <numeric>

namespace nascent {
namespace {

// theta ~ theta0 exp(-lambda r s) with r = theta.s - y: r - (theta(r).s - y) rises in r, so its root is found by
// halving.
Vector proximal_theta(const Vector& start, const Vector& scores, double y, double lambda) {
  const auto theta = [&](double r) { return exponentiated_step(start, lambda * r * scores); };
  double low = scores.minCoeff() - y, high = scores.maxCoeff() - y;
  for (int i = 0; i < 200 && high - low > 1e-15 * std::max(1.0, std::abs(high)); ++i) {
    const double middle = (low + high) / 2;
    (middle > theta(middle).dot(scores) - y ? high : low) = middle;
  }
  return theta((low + high) / 2);
}

// Orthonormal directions of the simplex: those that sum to nothing.
Matrix simplex_tangent(int size) {
  Matrix tangent = Matrix::Zero(size, size - 1);
  for (int k = 1; k < size; ++k) {
    for (int i = 0; i < k; ++i) tangent(i, k - 1) = 1 / std::sqrt(k * (k + 1.0));
    tangent(k, k - 1) = -k / std::sqrt(k * (k + 1.0));
  }
  return tangent;
}

}  // namespace

double kl_divergence(const Vector& a, const Vector& b) {
  double sum = 0;
  for (Eigen::Index i = 0; i < a.size(); ++i) {
    if (a(i) > 0) sum += a(i) * std::log(a(i) / b(i)) - a(i) + b(i);
    if (a(i) == 0) sum += b(i);
  }
  return sum;
}

Vector exponentiated_step(const Vector& theta, const Vector& step) {
  const Vector grown = theta.array() * (-(step.array() - step.minCoeff())).exp();
  return grown / grown.sum();
}

Vector simplex_projection(const Vector& v) {
  std::vector<double> sorted(v.data(), v.data() + v.size());
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  double sum = 0, shift = 0;
  for (size_t i = 0; i < sorted.size(); ++i) {
    sum += sorted[i];
    const double candidate = (sum - 1) / static_cast<double>(i + 1);
    if (sorted[i] > candidate) shift = candidate;
  }
  return (v.array() - shift).max(0);
}

double linear_stationarity(const Vector& theta, const Vector& c, double lambda) {
  const Vector next = exponentiated_step(theta, lambda * c);
  return (kl_divergence(theta, next) + kl_divergence(next, theta)) / (lambda * lambda);
}

MixturePoint MixtureProblem::proximal(const MixturePoint& point, double lambda) const {
  const double length = x.squaredNorm();
  const Vector start = point.weights * x;
  Vector theta = point.theta, scores = start;
  double residual = 0;
  for (int turn = 0; turn < 500; ++turn) {
    // In w the objective is quadratic: w_o moves against theta_o x by lambda times the residual that it leaves.
    residual = (theta.dot(start) - y) / (1 + lambda * length * theta.squaredNorm());
    scores = start - lambda * residual * length * theta;
    const Vector next = proximal_theta(point.theta, scores, y, lambda);
    const double change = (next - theta).lpNorm<1>();
    theta = next;
    if (change < 1e-14) break;
  }
  residual = (theta.dot(start) - y) / (1 + lambda * length * theta.squaredNorm());
  return {point.weights - lambda * residual * theta * x.transpose(), theta};
}

double MixtureProblem::stationarity(const MixturePoint& point, double lambda) const {
  const MixturePoint next = proximal(point, lambda);
  const double divergence = (next.weights - point.weights).squaredNorm() + kl_divergence(next.theta, point.theta) +
                            kl_divergence(point.theta, next.theta);
  return divergence / (lambda * lambda);
}

double least_weak_convexity(const Matrix& hessian, const Matrix& metric, const Matrix& tangent) {
  const Matrix inner = tangent.transpose() * hessian * tangent, scale = tangent.transpose() * metric * tangent;
  const Eigen::GeneralizedSelfAdjointEigenSolver<Matrix> solver(inner, scale, Eigen::EigenvaluesOnly);
  return std::max(0.0, -solver.eigenvalues()(0));
}

double MixtureProblem::weak_convexity(const MixturePoint& point) const {
  // w enters through its scores <w_o, x> only; in units of |x| these are an orthonormal part of w.
  const int ops = static_cast<int>(point.theta.size());
  const double length = x.norm(), error = residual(point);
  Vector slope(2 * ops);
  slope << length * point.theta, point.weights * x;
  Matrix hessian = slope * slope.transpose(), metric = Matrix::Identity(2 * ops, 2 * ops);
  for (int o = 0; o < ops; ++o) {
    hessian(o, ops + o) += error * length;
    hessian(ops + o, o) += error * length;
    metric(ops + o, ops + o) = 1 / std::max(point.theta(o), 1e-12);
  }
  Matrix tangent = Matrix::Zero(2 * ops, 2 * ops - 1);
  tangent.topLeftCorner(ops, ops).setIdentity();
  tangent.bottomRightCorner(ops, ops - 1) = simplex_tangent(ops);
  return least_weak_convexity(hessian, metric, tangent);
}

}  // namespace nascent
