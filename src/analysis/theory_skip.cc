// PR-DARTS, Theorem 1: skip connections and the rate at which gradient descent reduces the loss.
#include <cmath>

#include "nascent/analysis/gated_cell.h"
#include "nascent/analysis/theory.h"

namespace nascent::theory_skip {
namespace {

constexpr int kInputs = 8;

GatedCellShape shape_of(double skip, double conv) {
  GatedCellShape shape;
  shape.skip = [skip](int, int) { return skip; };
  shape.conv = [conv](int, int) { return conv; };
  return shape;
}

// Skips that differ from edge to edge. Where all are equal, those along a path and those that the formula prints are
// one and the same product.
GatedCellShape with_unequal_skips(RandomStream& random) {
  GatedCellShape shape = shape_of(0, 0.3);
  Matrix gates = Matrix::Zero(shape.nodes, shape.nodes);
  for (double& gate : gates.reshaped()) gate = random.uniform(0.1, 0.6);
  shape.skip = [gates](int s, int l) { return gates(s, l); };
  return shape;
}

// The mean of the smallest eigenvalue over some networks, for gates from 0 to 0.8.
Curve eigenvalues_by(const std::string& name, bool of_skip, const std::vector<Vector>& inputs, int networks,
                     uint64_t seed) {
  Curve curve{name, {}};
  for (int i = 0; i <= 8; ++i) {
    const double gate = 0.1 * i;
    double sum = 0;
    for (int n = 0; n < networks; ++n) {
      const GatedCell cell(of_skip ? shape_of(gate, 0.3) : shape_of(0.3, gate), seed + static_cast<uint64_t>(n));
      sum += smallest_eigenvalue(cell.gram(inputs)) / networks;
    }
    curve.points.emplace_back(gate, sum);
  }
  return curve;
}

// What one small step does to the loss, as a rate.
double decay_of(GatedCell cell, const std::vector<Vector>& inputs, const Vector& targets, double rate) {
  const double before = cell.loss(inputs, targets);
  cell.descend(inputs, targets, rate);
  return (before - cell.loss(inputs, targets)) / (rate * before);
}

TheoryResult skip(const TheoryOptions& options) {
  using Relation = TheoryClaim::Relation;
  TheoryClaim decay{"small steps decay at least at 2 lambda_min(G)/n", "rate", "bound", Relation::at_least};
  TheoryClaim rises{"lambda_min(G) rises with the skips (0 to 0.8)", "at 0.8", "at 0", Relation::at_least};
  TheoryClaim more{"skips raise lambda_min(G) more than convolutions", "skips at 0.8", "convolutions at 0.8",
                   Relation::at_least};
  rises.proven = more.proven = false;
  double text = INFINITY, print = INFINITY;
  const int draws = std::max(1, options.draws / 15);  // each is a network of 33 000 weights, several times
  for (int draw = 0; draw < draws; ++draw) {
    RandomStream random(options.seed, "skip", {static_cast<uint64_t>(draw)});
    const auto inputs = unit_vectors(kInputs, GatedCellShape{}.inputs, random);
    const Vector targets = normal_vector(kInputs, random);
    const uint64_t seed = options.seed * 7919 + static_cast<uint64_t>(draw);
    const auto least = [&](double skips, double convs) {
      return smallest_eigenvalue(GatedCell(shape_of(skips, convs), seed).gram(inputs));
    };
    const GatedCellShape middle = shape_of(0.3, 0.3);
    const double eigenvalue = least(0.3, 0.3);
    // A step of 1e-6 loses about a part in a million to curvature.
    decay.add(decay_of(GatedCell(middle, seed), inputs, targets, 1e-6), 2 * eigenvalue / kInputs * (1 - 1e-4));
    rises.add(least(0.8, 0.3), least(0, 0.3));
    more.add(least(0.8, 0.3), least(0.3, 0.8));
    RandomStream gates(options.seed, "skip gates", {static_cast<uint64_t>(draw)});
    const GatedCellShape unequal = with_unequal_skips(gates);
    const double own = smallest_eigenvalue(GatedCell(unequal, seed).gram(inputs));
    text = std::min(text, own / promised_rate(unequal, inputs, true));
    print = std::min(print, own / promised_rate(unequal, inputs, false));
  }
  RandomStream random(options.seed, "skip curves");
  const auto inputs = unit_vectors(kInputs, GatedCellShape{}.inputs, random);
  FigurePanel panel{"Smallest eigenvalue of the Gram matrix", "gate", "lambda_min(G)", {}};
  panel.plot.curves = {eigenvalues_by("skips (convolutions 0.3)", true, inputs, 5, options.seed),
                       eigenvalues_by("convolutions (skips 0.3)", false, inputs, 5, options.seed)};
  TheoryResult result{.statement =
                          "Theorem 1: gradient descent reduces the loss at a rate that grows with the skips on "
                          "shared paths and with the last convolutions",
                      .claims = {decay, rises, more}};
  for (const Curve& curve : panel.plot.curves) {
    result.numbers[curve.name] = {curve.points.front().second, curve.points.back().second};
  }
  result.numbers["largest_constant_path"] = text;
  result.numbers["largest_constant_printed"] = print;
  result.panels = {panel};
  result.notes.emplace_back(fmt::format(
      "4 nodes, 64 channels, {} inputs, tanh. The constant c_sigma is unknown: with skips drawn from 0.1 to 0.6 edge "
      "by "
      "edge, the printed rate stays below lambda_min(G) in every draw up to c_sigma = {:.3g} with the skips along the "
      "path, {:.3g} with those that the formula prints.",
      kInputs, text, print));
  return result;
}

}  // namespace

NASCENT_REGISTER(Theory, "skip", "skip connections and the rate of descent (PR-DARTS, Theorem 1)", skip);

}  // namespace nascent::theory_skip
