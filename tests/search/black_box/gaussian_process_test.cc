#include "nascent/search/black_box/gaussian_process.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

namespace nascent {
namespace {

double matern(double r) { return (1 + std::sqrt(5) * r + 5.0 / 3 * r * r) * std::exp(-std::sqrt(5) * r); }

// Two points at 0 and 1, asked at 1/2: the covariance is [[1, p], [p, 1]] with p = k(1), and both points covary with
// the middle by q = k(1/2).
TEST(GaussianProcess, TwoPointsByHand) {
  const double p = matern(1), q = matern(0.5), y1 = 2, y2 = -0.5;
  const GaussianProcess process({{0}, {1}}, {y1, y2}, {.signal = 1, .lengths = {1}, .noise = 0});
  const auto [mean, deviation] = process.predict({0.5});
  EXPECT_NEAR(mean, q * (y1 + y2) / (1 + p), 1e-12);
  EXPECT_NEAR(deviation, std::sqrt(1 - 2 * q * q / (1 + p)), 1e-12);
  EXPECT_NEAR(process.predict({0}).mean, y1, 1e-9);
  EXPECT_NEAR(process.predict({0}).deviation, 0, 1e-6);
  const double fit = (y1 * y1 + y2 * y2 - 2 * p * y1 * y2) / (1 - p * p);
  EXPECT_NEAR(process.log_likelihood(), -0.5 * (fit + std::log(1 - p * p)) - std::log(2 * std::numbers::pi), 1e-12);
}

// With noise, one point: the mean shrinks by signal / (signal + noise).
TEST(GaussianProcess, OneNoisyPointByHand) {
  const GaussianProcess process({{0.2, 0.3}}, {3}, {.signal = 4, .lengths = {1, 2}, .noise = 2});
  EXPECT_NEAR(process.predict({0.2, 0.3}).mean, 3 * 4.0 / 6, 1e-12);
  EXPECT_NEAR(process.predict({0.2, 0.3}).deviation, std::sqrt(4 - 16.0 / 6), 1e-12);
  // A step of 1 along the second dimension is half a length.
  EXPECT_NEAR(process.predict({0.2, 1.3}).mean, 3 * 4 * matern(0.5) / 6, 1e-12);
  EXPECT_NEAR(process.predict({100, 100}).deviation, 2, 1e-6);
}

struct Observations {
  std::vector<Vector> points;
  Vector values;
};

Observations observe(int count) {
  RandomStream random(3, "sample");
  Observations sample;
  for (int i = 0; i < count; ++i) {
    sample.points.push_back({random.uniform(), random.uniform()});
    sample.values.push_back(std::sin(7 * sample.points.back()[0]) + 0.1 * random.normal());
  }
  return sample;
}

TEST(GaussianProcess, LikelihoodGradientAgreesWithDifferences) {
  const auto [points, values] = observe(12);
  const auto process = [&](const Vector& logs) {
    return GaussianProcess(
        points, values,
        {.signal = std::exp(logs[0]), .lengths = {std::exp(logs[1]), std::exp(logs[2])}, .noise = std::exp(logs[3])});
  };
  const Vector logs = {0.3, -1.1, 0.4, -3};
  const Vector gradient = process(logs).likelihood_gradient();
  for (size_t i = 0; i < logs.size(); ++i) {
    Vector up = logs, down = logs;
    up[i] += 1e-5;
    down[i] -= 1e-5;
    const double difference = (process(up).log_likelihood() - process(down).log_likelihood()) / 2e-5;
    EXPECT_NEAR(gradient[i], difference, 1e-6 * std::max(1.0, std::abs(difference))) << "parameter " << i;
  }
}

TEST(GaussianProcess, FittingFindsWhatMatters) {
  const auto [points, values] = observe(40);
  RandomStream random(1, "fit");
  const auto process = GaussianProcess::fitted(points, values, random);
  // The function depends on the first coordinate only, with a deviation of 0.1 around it.
  EXPECT_LT(process.parameters().lengths[0], 1);
  EXPECT_GT(process.parameters().lengths[1], 3 * process.parameters().lengths[0]);
  for (const double x : {0.1, 0.5, 0.9}) {
    const auto [mean, deviation] = process.predict({x, 0.5});
    EXPECT_NEAR(mean, std::sin(7 * x), 0.25);
    EXPECT_LT(deviation, 0.3);
  }
  // At the maximum within the bounds a derivative is zero or points out of them.
  const Vector gradient = process.likelihood_gradient();
  EXPECT_NEAR(gradient[1], 0, 0.3);
  EXPECT_NEAR(gradient[3], 0, 0.3);
}

TEST(GaussianProcess, EqualPointsAndEqualValuesAreFitted) {
  RandomStream random(1, "fit");
  const auto same = GaussianProcess::fitted({{0.5}, {0.5}, {0.5}}, {1, 1, 1}, random);
  EXPECT_NEAR(same.predict({0.5}).mean, 1, 1e-9);
  const GaussianProcess without_noise({{0.5}, {0.5}}, {1, 1}, {.signal = 1, .lengths = {1}, .noise = 0});
  EXPECT_NEAR(without_noise.predict({0.5}).mean, 1, 1e-4);
}

TEST(Acquisition, ExpectedImprovementIsItsIntegral) {
  for (const double best : {-2.0, 0.4, 3.0}) {
    const Prediction prediction{0.7, 1.3};
    double integral = 0;
    const double step = 1e-3;
    for (double y = best + step / 2; y < 15; y += step) {
      const double z = (y - prediction.mean) / prediction.deviation;
      integral += step * (y - best) * std::exp(-z * z / 2) / (prediction.deviation * std::sqrt(2 * std::numbers::pi));
    }
    EXPECT_NEAR(expected_improvement(prediction, best), integral, 1e-6) << best;
  }
  EXPECT_EQ(expected_improvement({2, 0}, 1.5), 0.5);
  EXPECT_EQ(expected_improvement({1, 0}, 1.5), 0);
}

TEST(Acquisition, UpperConfidenceBound) { EXPECT_EQ(upper_confidence_bound({1, 0.5}, 2), 2); }

}  // namespace
}  // namespace nascent
