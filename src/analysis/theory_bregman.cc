// GAEA, eq. 7, Theorem 1 and Corollary 1: how fast block-stochastic mirror descent becomes stationary.
#include <cmath>

#include "nascent/analysis/bregman.h"
#include "nascent/analysis/theory.h"

namespace nascent::theory_bregman {
namespace {

constexpr int kSize = 4;

struct Start {
  MixtureProblem problem;
  MixturePoint point;
};

Start draw_start(int ops, RandomStream& random) {
  const Vector x = normal_vector(kSize, random).normalized();
  return {{x, 1 + random.uniform()}, {normal_matrix(ops, kSize, 0.5, random), Vector::Constant(ops, 1.0 / ops)}};
}

// One step of Algorithm 1: a block picked at random; theta moves by exponentiated or by projected gradients.
void step(const MixtureProblem& problem, MixturePoint& point, double rate, bool exponentiated, RandomStream& random) {
  if (random.uniform() < 0.5) {
    point.weights -= rate * problem.weight_gradient(point);
  } else if (exponentiated) {
    point.theta = exponentiated_step(point.theta, rate * problem.theta_gradient(point));
  } else {
    point.theta = simplex_projection(point.theta - rate * problem.theta_gradient(point));
  }
}

struct Constants {
  double gamma = 0, gradients = 0;  // G_w^2 + G_theta^2
};

// The largest of each at the points that a run visits.
Constants constants_along(const Start& start, double rate, int64_t steps, RandomStream random) {
  Constants found;
  MixturePoint point = start.point;
  double weights = 0, theta = 0;
  for (int64_t t = 0; t < steps; ++t) {
    found.gamma = std::max(found.gamma, start.problem.weak_convexity(point));
    weights = std::max(weights, start.problem.weight_gradient(point).squaredNorm());
    theta = std::max(theta, std::pow(start.problem.theta_gradient(point).lpNorm<Eigen::Infinity>(), 2));
    step(start.problem, point, rate, true, random);
  }
  found.gradients = weights + theta;
  return found;
}

// Theorem 1 with constants that hold along the run; these and the run settle in a few rounds.
void check_theorem(const Start& start, double epsilon, const RandomStream& random, TheoryClaim& claim) {
  Constants constants = constants_along(start, 0.05, 100, random);
  const double value = start.problem.value(start.point);
  double rate = 0;
  int64_t steps = 0;
  for (int round = 0; round < 4; ++round) {
    steps = std::min<int64_t>(5000, 1 + static_cast<int64_t>(std::ceil(16 * constants.gamma * value *
                                                                       constants.gradients / (epsilon * epsilon))));
    rate = std::sqrt(4 * value / (constants.gamma * constants.gradients * static_cast<double>(steps)));
    const Constants along = constants_along(start, rate, steps, random);
    constants = {std::max(constants.gamma, along.gamma), std::max(constants.gradients, along.gradients)};
  }
  const double lambda = 1 / (2 * constants.gamma);
  MixturePoint point = start.point;
  RandomStream blocks = random;
  double sum = 0;
  int64_t looked = 0;
  const int64_t stride = std::max<int64_t>(1, steps / 50);
  for (int64_t t = 0; t < steps; ++t) {
    if (t % stride == 0) sum += start.problem.stationarity(point, lambda), ++looked;
    step(start.problem, point, rate, true, blocks);
  }
  claim.add(sum / static_cast<double>(looked), epsilon);
}

// Steps until the stationarity falls below `target`, 4000 at most.
double steps_to(const Start& start, double target, bool exponentiated, RandomStream random) {
  MixturePoint point = start.point;
  for (int t = 0; t < 4000; ++t) {
    if (t % 4 == 0 && start.problem.stationarity(point, 0.5) < target) return t;
    step(start.problem, point, 0.05, exponentiated, random);
  }
  return 4000;
}

TheoryResult bregman(const TheoryOptions& options) {
  TheoryClaim theorem{"Theorem 1: mean stationarity", "mean", "epsilon"};
  TheoryClaim linear{"eq. 7 of a linear function", "error", "1e-9"};
  const int draws = std::max(1, options.draws / 10);
  for (int draw = 0; draw < options.draws; ++draw) {
    RandomStream random(options.seed, "bregman linear", {static_cast<uint64_t>(draw)});
    const Vector theta = exponentiated_step(Vector::Constant(5, 0.2), normal_vector(5, random));
    const Vector c = normal_vector(5, random);
    const double lambda = std::exp(random.uniform(-2, 2));
    // The symmetric divergence of an exponentiated step is lambda <c, theta - u>.
    const Vector next = exponentiated_step(theta, lambda * c);
    linear.add(std::abs(linear_stationarity(theta, c, lambda) - c.dot(theta - next) / lambda), 1e-9);
  }
  for (int draw = 0; draw < draws; ++draw) {
    RandomStream random(options.seed, "bregman", {static_cast<uint64_t>(draw)});
    const Start start = draw_start(4, random);
    check_theorem(start, 0.25, random, theorem);
  }
  TheoryResult result{.statement =
                          "Theorem 1: after T = 16 gamma F (G_w^2 + G_theta^2) / eps^2 steps the mean Bregman "
                          "stationarity is at most eps",
                      .claims = {theorem, linear}};
  Curve exponential{"exponentiated gradient", {}}, projected{"projected SGD", {}};
  for (const int ops : {4, 16, 64}) {
    double sums[2] = {0, 0};
    const int runs = 5;
    for (int run = 0; run < runs; ++run) {
      RandomStream random(options.seed, "bregman steps", {static_cast<uint64_t>(ops), static_cast<uint64_t>(run)});
      const Start start = draw_start(ops, random);
      const double target = 0.05 * start.problem.stationarity(start.point, 0.5);
      for (int which = 0; which < 2; ++which) sums[which] += steps_to(start, target, which == 0, random) / runs;
    }
    exponential.points.emplace_back(std::log2(ops), sums[0]);
    projected.points.emplace_back(std::log2(ops), sums[1]);
    result.numbers["steps"].push_back({{"operations", ops}, {"exponentiated", sums[0]}, {"projected", sums[1]}});
    result.notes.emplace_back(
        fmt::format("{} operations: {:.0f} steps to a twentieth of the stationarity with exponentiated "
                    "gradients, {:.0f} with projected SGD",
                    ops, sums[0], sums[1]));
  }
  FigurePanel panel{"Steps to a twentieth of the stationarity", "log2 of the operations", "steps", {}};
  panel.plot.curves = {exponential, projected};
  result.panels = {panel};
  result.notes.emplace_back(
      "gamma is the joint one, measured at visited points as the least with Hessian + gamma diag(I, 1/theta) without a "
      "negative direction on the tangent space: Assumption 1 as printed has no |w|^2/2 beside phi, and per-block "
      "gammas do "
      "not make f jointly weakly convex.");
  return result;
}

}  // namespace

NASCENT_REGISTER(Theory, "bregman", "stationarity of mirror descent (GAEA, eq. 7, Theorem 1, Corollary 1)", bregman);

}  // namespace nascent::theory_bregman
