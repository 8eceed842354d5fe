// Understanding cell-based NAS, Theorem 4.1 (Ghadimi & Lan 2013): what stochastic gradient descent reaches.
#include <cmath>

#include "nascent/analysis/theory.h"

namespace nascent::theory_sgd {
namespace {

// On L w^2 / 2 with noise of variance sigma^2 the mean of w^2 follows a recursion without any sampling.
double mean_square_gradient(double smoothness, double sigma, double start, const std::vector<double>& rates) {
  double square = start * start, sum = 0, total = 0;
  for (double rate : rates) {
    sum += rate * smoothness * smoothness * square;
    total += rate;
    square = std::pow(1 - rate * smoothness, 2) * square + rate * rate * sigma * sigma;
  }
  return sum / total;
}

double bound(double smoothness, double sigma, double start, const std::vector<double>& rates) {
  double total = 0, squares = 0;
  for (double rate : rates) total += rate, squares += rate * rate;
  return smoothness * start * start / total + smoothness * sigma * sigma * squares / total;
}

TheoryResult sgd(const TheoryOptions& options) {
  TheoryClaim claim{"Theorem 4.1", "mean squared gradient", "bound"};
  for (int draw = 0; draw < options.draws; ++draw) {
    RandomStream random(options.seed, "sgd", {static_cast<uint64_t>(draw)});
    const double smoothness = std::exp(random.uniform(-3, 3)), sigma = std::exp(random.uniform(-3, 3));
    const double start = 3 * random.normal(), rate = random.uniform(0, 1) / smoothness;
    const int64_t steps = 1 + random.below(500);
    std::vector<double> rates;
    for (int64_t k = 0; k < steps; ++k) {  // half a cosine, as networks are trained
      rates.push_back(0.5 * rate * (1 + std::cos(M_PI * static_cast<double>(k) / static_cast<double>(steps))));
    }
    claim.add(mean_square_gradient(smoothness, sigma, start, rates), bound(smoothness, sigma, start, rates));
  }
  TheoryResult result{.statement =
                          "Theorem 4.1: the mean squared gradient at a random step of SGD is at most 2(f0 - f*)/H "
                          "+ L sigma^2 sum(rate^2)/H, H the sum of the rates",
                      .claims = {claim}};
  FigurePanel smooth{"By smoothness L", "log10 of L", "mean squared gradient after 100 steps", {}};
  FigurePanel noise{"By gradient noise", "log10 of sigma", "mean squared gradient after 100 steps", {}};
  Curve exact_l{"exact", {}}, bound_l{"bound", {}}, exact_s{"exact", {}}, bound_s{"bound", {}};
  const std::vector<double> rates(100, 0.05);
  for (double power = -1; power <= 1.3; power += 0.1) {
    const double value = std::pow(10, power);
    exact_l.points.emplace_back(power, mean_square_gradient(value, 1, 1, rates));
    bound_l.points.emplace_back(power, bound(value, 1, 1, rates));
    exact_s.points.emplace_back(power, mean_square_gradient(1, value, 1, rates));
    bound_s.points.emplace_back(power, bound(1, value, 1, rates));
  }
  smooth.plot.curves = {exact_l, bound_l};
  noise.plot.curves = {exact_s, bound_s};
  result.panels = {smooth, noise};
  result.notes.emplace_back("f = L w^2 / 2, where the mean of w^2 follows an exact recursion; rates below 1/L.");
  return result;
}

}  // namespace

NASCENT_REGISTER(Theory, "sgd", "what SGD reaches by smoothness and noise (Understanding, Theorem 4.1)", sgd);

}  // namespace nascent::theory_sgd
