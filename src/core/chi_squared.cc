#include "nascent/core/chi_squared.h"

#include <cmath>

namespace nascent {
namespace {

constexpr int kMostTerms = 100000;
constexpr double kSmall = 1e-15;

// The regularised lower incomplete gamma function by its series; converges fast for x < a + 1.
double lower_by_series(double a, double x) {
  double term = 1 / a, sum = term;
  for (int n = 1; n < kMostTerms && std::abs(term) > kSmall * std::abs(sum); ++n) {
    term *= x / (a + n);
    sum += term;
  }
  return sum * std::exp(a * std::log(x) - x - std::lgamma(a));
}

// The upper one by its continued fraction (Lentz), for x >= a + 1.
double upper_by_fraction(double a, double x) {
  double b = x + 1 - a, c = 1e300, d = 1 / b, product = d;
  for (int n = 1; n < kMostTerms; ++n) {
    const double numerator = -n * (n - a);
    b += 2;
    d = 1 / (numerator * d + b);
    c = b + numerator / c;
    product *= c * d;
    if (std::abs(c * d - 1) < kSmall) break;
  }
  return product * std::exp(a * std::log(x) - x - std::lgamma(a));
}

}  // namespace

double chi_squared_tail(double value, double freedom) {
  if (value <= 0 || freedom <= 0) return 1;
  const double a = freedom / 2, x = value / 2;
  return x < a + 1 ? 1 - lower_by_series(a, x) : upper_by_fraction(a, x);
}

}  // namespace nascent
