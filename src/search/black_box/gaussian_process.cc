#include "nascent/search/black_box/gaussian_process.h"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cassert>
#include <cmath>
#include <numbers>

#include "nascent/core/error.h"

namespace nascent {

namespace {

constexpr double kRoot5 = 2.23606797749978969;

// The part of the kernel that depends on the scaled distance.
double matern52(double distance) {
  return (1 + kRoot5 * distance + 5.0 / 3 * distance * distance) * std::exp(-kRoot5 * distance);
}

double scaled_distance(const Vector& a, const Vector& b, const Vector& lengths) {
  double squares = 0;
  for (size_t d = 0; d < lengths.size(); ++d) {
    const double difference = (a[d] - b[d]) / lengths[d];
    squares += difference * difference;
  }
  return std::sqrt(squares);
}

// Square matrices are kept as their rows, one after another; of symmetric and triangular ones only the lower triangle
// counts.
using RowMatrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

Eigen::Map<const RowMatrix> square(const Vector& matrix, size_t n) {
  return {matrix.data(), static_cast<Eigen::Index>(n), static_cast<Eigen::Index>(n)};
}

Eigen::Map<Eigen::VectorXd> column(Vector& values) { return {values.data(), static_cast<Eigen::Index>(values.size())}; }

// Replaces the lower triangle of a symmetric matrix by its Cholesky factor; false where it is not positive definite.
bool factorise(Vector& matrix, size_t n) {
  Eigen::Map<RowMatrix> rows(matrix.data(), static_cast<Eigen::Index>(n), static_cast<Eigen::Index>(n));
  const Eigen::LLT<Eigen::Ref<RowMatrix>, Eigen::Lower> in_place(rows);
  return in_place.info() == Eigen::Success && rows.diagonal().allFinite();
}

// Solves L x = b.
Vector solve_lower(const Vector& factor, Vector b) {
  auto x = column(b);
  const auto rows = square(factor, b.size());
  rows.triangularView<Eigen::Lower>().solveInPlace(x);
  return b;
}

// Solves L^T x = b.
Vector solve_upper(const Vector& factor, Vector b) {
  auto x = column(b);
  const auto rows = square(factor, b.size());
  rows.transpose().triangularView<Eigen::Upper>().solveInPlace(x);
  return b;
}

// (L L^T)^-1 = W^T W with W = L^-1.
RowMatrix inverse(const Vector& factor, size_t n) {
  RowMatrix w = RowMatrix::Identity(static_cast<Eigen::Index>(n), static_cast<Eigen::Index>(n));
  const auto rows = square(factor, n);
  rows.triangularView<Eigen::Lower>().solveInPlace(w);
  return w.transpose() * w;
}

double normal_density(double z) { return std::exp(-0.5 * z * z) / std::sqrt(2 * std::numbers::pi); }
double normal_probability(double z) { return 0.5 * std::erfc(-z / std::numbers::sqrt2); }

}  // namespace

GaussianProcess::GaussianProcess(std::vector<Vector> points, Vector values, GpParameters parameters)
    : points_(std::move(points)), values_(std::move(values)), parameters_(std::move(parameters)) {
  assert(points_.size() == values_.size());
  const size_t n = size();
  factor_.resize(n * n);
  for (size_t row = 0; row < n; ++row) {
    for (size_t column = 0; column <= row; ++column) factor_[row * n + column] = kernel(points_[row], points_[column]);
    factor_[row * n + row] += parameters_.noise;
  }
  const Vector covariance = factor_;
  // Points that nearly coincide need a little more noise than was asked for.
  for (double extra = 1e-10 * parameters_.signal; !factorise(factor_, n); extra *= 10) {
    if (extra > parameters_.signal) fail("A Gaussian process of {} points has a covariance that cannot be used.", n);
    factor_ = covariance;
    for (size_t row = 0; row < n; ++row) factor_[row * n + row] += extra;
  }
  weights_ = solve_upper(factor_, solve_lower(factor_, values_));
}

double GaussianProcess::kernel(const Vector& a, const Vector& b) const {
  return parameters_.signal * matern52(scaled_distance(a, b, parameters_.lengths));
}

Prediction GaussianProcess::predict(const Vector& point) const {
  Vector covariances(size());
  double mean = 0;
  for (size_t i = 0; i < size(); ++i) {
    covariances[i] = kernel(point, points_[i]);
    mean += covariances[i] * weights_[i];
  }
  double explained = 0;
  for (const double x : solve_lower(factor_, std::move(covariances))) explained += x * x;
  const double variance = std::max(0.0, parameters_.signal - explained);
  return {shift_ + scale_ * mean, scale_ * std::sqrt(variance)};
}

double GaussianProcess::log_likelihood() const {
  const size_t n = size();
  double fit = 0, log_determinant = 0;
  for (size_t i = 0; i < n; ++i) {
    fit += values_[i] * weights_[i];
    log_determinant += 2 * std::log(factor_[i * n + i]);
  }
  return -0.5 * (fit + log_determinant + static_cast<double>(n) * std::log(2 * std::numbers::pi));
}

// 1/2 tr((w w^T - K^-1) dK), summed over the derivative dK by each parameter's logarithm.
Vector GaussianProcess::likelihood_gradient() const {
  const size_t n = size(), dimensions = parameters_.lengths.size();
  const RowMatrix inverted = inverse(factor_, n);
  Vector gradient(dimensions + 2);
  for (size_t row = 0; row < n; ++row) {
    for (size_t column = 0; column <= row; ++column) {
      const double twice = row == column ? 1 : 2;  // the matrix is symmetric
      const double weight = 0.5 * twice *
                            (weights_[row] * weights_[column] -
                             inverted(static_cast<Eigen::Index>(row), static_cast<Eigen::Index>(column)));
      const double distance = scaled_distance(points_[row], points_[column], parameters_.lengths);
      gradient[0] += weight * parameters_.signal * matern52(distance);
      const double slope = parameters_.signal * 5 / 3 * (1 + kRoot5 * distance) * std::exp(-kRoot5 * distance);
      for (size_t d = 0; d < dimensions; ++d) {
        const double difference = (points_[row][d] - points_[column][d]) / parameters_.lengths[d];
        gradient[1 + d] += weight * slope * difference * difference;
      }
      if (row == column) gradient[dimensions + 1] += weight * parameters_.noise;
    }
  }
  return gradient;
}

namespace {

// Bounds of the parameters for standardised values of points in the unit cube.
constexpr double kSignal[] = {0.05, 20}, kLength[] = {0.03, 10}, kNoise[] = {1e-6, 1};

double log_within(double value, const double (&bounds)[2]) { return std::log(std::clamp(value, bounds[0], bounds[1])); }

Vector to_logs(const GpParameters& parameters) {
  Vector logs = {log_within(parameters.signal, kSignal)};
  for (const double length : parameters.lengths) logs.push_back(log_within(length, kLength));
  logs.push_back(log_within(parameters.noise, kNoise));
  return logs;
}

GpParameters from_logs(const Vector& logs) {
  const auto bounded = [](double log, const double(&bounds)[2]) {
    return std::clamp(std::exp(log), bounds[0], bounds[1]);
  };
  GpParameters parameters{.signal = bounded(logs.front(), kSignal)};
  for (size_t i = 1; i + 1 < logs.size(); ++i) parameters.lengths.push_back(bounded(logs[i], kLength));
  parameters.noise = bounded(logs.back(), kNoise);
  return parameters;
}

GpParameters random_start(size_t dimensions, RandomStream& random) {
  GpParameters parameters{.signal = std::exp(random.uniform(-1, 1))};
  for (size_t d = 0; d < dimensions; ++d) parameters.lengths.push_back(std::exp(random.uniform(-2.5, 1)));
  parameters.noise = std::exp(random.uniform(-7, -1));
  return parameters;
}

// Ascends by the sign of each derivative, with steps that grow while the sign stays and shrink when it changes (Rprop):
// scales of the parameters do not matter.
GaussianProcess ascend(const std::vector<Vector>& points, const Vector& values, const GpParameters& start) {
  constexpr int kSteps = 40;
  constexpr double kSmallStep = 2e-3;
  Vector logs = to_logs(start), steps(logs.size(), 0.2), before(logs.size());
  GaussianProcess best(points, values, from_logs(logs));
  GaussianProcess here = best;
  for (int i = 0; i < kSteps; ++i) {
    const Vector gradient = here.likelihood_gradient();
    for (size_t p = 0; p < logs.size(); ++p) {
      const double agreement = gradient[p] * before[p];
      if (agreement != 0) steps[p] = std::clamp(steps[p] * (agreement > 0 ? 1.3 : 0.4), 1e-4, 1.0);
      logs[p] += gradient[p] > 0 ? steps[p] : gradient[p] < 0 ? -steps[p] : 0;
    }
    before = gradient;
    logs = to_logs(from_logs(logs));  // stays within the bounds
    here = GaussianProcess(points, values, from_logs(logs));
    if (here.log_likelihood() > best.log_likelihood()) best = here;
    if (*std::max_element(steps.begin(), steps.end()) < kSmallStep) break;
  }
  return best;
}

}  // namespace

GaussianProcess GaussianProcess::fitted(const std::vector<Vector>& points, Vector values, RandomStream& random,
                                        const GpParameters& start, int random_starts) {
  assert(!points.empty() && points.size() == values.size());
  double mean = 0, squares = 0;
  for (const double value : values) mean += value / static_cast<double>(values.size());
  for (const double value : values) squares += (value - mean) * (value - mean);
  const double deviation = std::sqrt(squares / static_cast<double>(values.size()));
  const double scale = deviation > 0 ? deviation : 1;
  for (double& value : values) value = (value - mean) / scale;
  const size_t dimensions = points[0].size();
  const bool given = start.lengths.size() == dimensions;
  GaussianProcess best = ascend(
      points, values, given ? start : GpParameters{.signal = 1, .lengths = Vector(dimensions, 0.3), .noise = 0.01});
  for (int i = 0; i < random_starts; ++i) {
    GaussianProcess other = ascend(points, values, random_start(dimensions, random));
    if (other.log_likelihood() > best.log_likelihood()) best = std::move(other);
  }
  best.shift_ = mean;
  best.scale_ = scale;
  return best;
}

double expected_improvement(const Prediction& prediction, double best) {
  const double ahead = prediction.mean - best;
  if (prediction.deviation <= 0) return std::max(0.0, ahead);
  const double z = ahead / prediction.deviation;
  return ahead * normal_probability(z) + prediction.deviation * normal_density(z);
}

double upper_confidence_bound(const Prediction& prediction, double kappa) {
  return prediction.mean + kappa * prediction.deviation;
}

}  // namespace nascent
