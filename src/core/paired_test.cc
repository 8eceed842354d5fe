#include "nascent/core/paired_test.h"

#include <cmath>
#include <numeric>

namespace nascent {
namespace {

// The continued fraction of the incomplete beta function, evaluated from the front (Lentz's method).
double beta_fraction(double x, double a, double b) {
  constexpr double kTiny = 1e-300, kEnough = 1e-15;
  const auto away_from_zero = [](double value) { return std::abs(value) < kTiny ? kTiny : value; };
  double c = 1, d = 1 / away_from_zero(1 - (a + b) * x / (a + 1)), product = d;
  for (int m = 1; m < 10000; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    double step = 1;
    for (const double term : {even, odd}) {
      d = 1 / away_from_zero(1 + term * d);
      c = away_from_zero(1 + term / c);
      step = c * d;
      product *= step;
    }
    if (std::abs(step - 1) < kEnough) break;
  }
  return product;
}

// The regularised incomplete beta function.
double incomplete_beta(double x, double a, double b) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  if (x > (a + 1) / (a + b + 2)) return 1 - incomplete_beta(1 - x, b, a);  // where the fraction converges fast
  const double front = std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) + a * std::log(x) + b * std::log1p(-x);
  return std::exp(front) * beta_fraction(x, a, b) / a;
}

}  // namespace

MeanAndDeviation mean_and_deviation(const std::vector<double>& numbers) {
  if (numbers.empty()) return {};
  const auto n = static_cast<double>(numbers.size());
  MeanAndDeviation result{std::accumulate(numbers.begin(), numbers.end(), 0.0) / n, 0};
  if (numbers.size() < 2) return result;
  double squares = 0;
  for (const double x : numbers) squares += (x - result.mean) * (x - result.mean);
  result.deviation = std::sqrt(squares / (n - 1));
  return result;
}

double two_sided_p(double t, double degrees) { return incomplete_beta(degrees / (degrees + t * t), degrees / 2, 0.5); }

PairedTest paired_test(const std::vector<double>& differences) {
  const auto [mean, deviation] = mean_and_deviation(differences);
  const auto n = static_cast<double>(differences.size());
  PairedTest test{static_cast<int>(differences.size()), mean, deviation, 0, 1};
  if (deviation > 0) {
    test.t = mean / (deviation / std::sqrt(n));
    test.p = two_sided_p(test.t, n - 1);
  } else if (mean != 0) {
    test.t = std::copysign(INFINITY, mean);
    test.p = 0;
  }
  return test;
}

}  // namespace nascent
