// PR-DARTS, Theorems 2 and 3: what growing gates do to the loss, and when stochastic gates are zero.
#include <cmath>

#include "nascent/analysis/gated_cell.h"
#include "nascent/analysis/theory.h"

namespace nascent::theory_gates {
namespace {

constexpr int kInputs = 8, kFew = 20, kMany = 400;
constexpr double kLow = -0.1, kHigh = 1.1;  // the stretch

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// Theorem 3: the stretched, clipped gate is 0 exactly where the concrete variable is below -a/(b-a).
TheoryClaim zero_gates(const TheoryOptions& options) {
  TheoryClaim claim{"Theorem 3: P(gate is not 0)", "error in standard errors", "4.5"};
  constexpr int kGates = 4000;
  for (int draw = 0; draw < options.draws; ++draw) {
    RandomStream random(options.seed, "gates", {static_cast<uint64_t>(draw)});
    const double beta = 2 * random.normal(), temperature = std::exp(random.uniform(-2.3, 2.3));
    int open = 0;
    for (int i = 0; i < kGates; ++i) {
      const double noise = std::max(random.uniform(), 1e-300);
      const double concrete = sigmoid((std::log(noise) - std::log1p(-noise) + beta) / temperature);
      const double gate = std::min(1.0, std::max(0.0, kLow + (kHigh - kLow) * concrete));
      open += gate > 0 ? 1 : 0;
    }
    const double expected = sigmoid(beta - temperature * std::log(-kLow / kHigh));
    const double error = std::sqrt(std::max(expected * (1 - expected), 1.0 / kGates) / kGates);
    claim.add(std::abs(open / static_cast<double>(kGates) - expected) / error, 4.5);
  }
  return claim;
}

struct Losses {
  double few, many;
};

Losses train(double skip, double conv, const std::vector<Vector>& inputs, const Vector& targets, uint64_t seed) {
  GatedCellShape shape{.nodes = 4, .width = 16, .inputs = 16};
  shape.skip = [skip](int, int) { return skip; };
  shape.conv = [conv](int, int) { return conv; };
  GatedCell cell(shape, seed);
  // The same rate for all gates: stable for the largest.
  Losses losses{};
  for (int step = 1; step <= kMany; ++step) {
    cell.descend(inputs, targets, 0.05);
    if (step == kFew) losses.few = cell.loss(inputs, targets);
  }
  losses.many = cell.loss(inputs, targets);
  return losses;
}

TheoryResult gates(const TheoryOptions& options) {
  const std::vector<double> sizes = {0.1, 0.3, 0.5, 0.7, 0.9};
  const int draws = std::max(1, options.draws / 15);
  TheoryResult result{.statement =
                          "Theorem 2: larger gates reduce the loss or keep it; Theorem 3: a stretched gate is not 0 "
                          "with probability sigmoid(beta - tau ln(-a/b))"};
  result.claims.push_back(zero_gates(options));
  FigurePanel panel{"Loss by gate", "gate", "mean loss", {}};
  for (const bool of_skip : {true, false}) {
    const std::string name = of_skip ? "skips" : "convolutions";
    TheoryClaim early{fmt::format("Theorem 2, {}: next gate after {} steps", name, kFew), "loss",
                      "loss at the gate before"};
    TheoryClaim late{fmt::format("Theorem 2, {}: next gate after {} steps", name, kMany), "loss",
                     "loss at the gate before"};
    early.proven = late.proven = false;
    Curve few{fmt::format("{}, {} steps", name, kFew), {}}, many{fmt::format("{}, {} steps", name, kMany), {}};
    for (double gate : sizes) few.points.emplace_back(gate, 0), many.points.emplace_back(gate, 0);
    for (int draw = 0; draw < draws; ++draw) {
      RandomStream random(options.seed, "growing gates", {static_cast<uint64_t>(draw)});
      const auto inputs = unit_vectors(kInputs, 16, random);
      const Vector targets = normal_vector(kInputs, random);
      Losses before{};
      for (size_t i = 0; i < sizes.size(); ++i) {
        const Losses now = train(of_skip ? sizes[i] : 0.3, of_skip ? 0.3 : sizes[i], inputs, targets,
                                 options.seed * 31 + static_cast<uint64_t>(draw));
        few.points[i].second += now.few / draws;
        many.points[i].second += now.many / draws;
        if (i > 0) early.add(now.few, before.few), late.add(now.many, before.many);
        before = now;
      }
    }
    result.claims.push_back(std::move(early));
    result.claims.push_back(std::move(late));
    panel.plot.curves.push_back(std::move(few));
    panel.plot.curves.push_back(std::move(many));
  }
  panel.plot.width = 460;
  result.panels = {panel};
  result.notes.emplace_back(
      "4 nodes, 16 channels, 8 inputs, gradient descent at rate 0.05; gates 0.1 to 0.9, the others 0.3.");
  return result;
}

}  // namespace

NASCENT_REGISTER(Theory, "gates", "growing gates and gates that are zero (PR-DARTS, Theorems 2 and 3)", gates);

}  // namespace nascent::theory_gates
