// Understanding cell-based NAS, Theorem 4.3: the gradient variance of the narrowest cell against the widest.
#include <cmath>

#include "nascent/analysis/narrow_cell.h"
#include "nascent/analysis/theory.h"

namespace nascent::theory_variance {
namespace {

constexpr int kNodes = 4, kSize = 8, kSamples = 64;

struct Draw {
  NarrowCell cell;
  std::vector<Vector> inputs;                // by sample
  std::vector<std::vector<Vector>> targets;  // by sample and node
};

Draw draw_problem(double deviation, RandomStream& random) {
  std::vector<Matrix> weights;
  for (int i = 0; i < kNodes; ++i) weights.push_back(normal_matrix(kSize, kSize, deviation, random));
  Draw draw{NarrowCell(std::move(weights)), {}, {}};
  for (int s = 0; s < kSamples; ++s) {
    draw.inputs.push_back(normal_vector(kSize, random));
    auto& targets = draw.targets.emplace_back();
    for (int k = 0; k < kNodes; ++k) targets.push_back(normal_vector(kSize, random));
  }
  return draw;
}

double variance(const std::vector<Matrix>& gradients) {
  Matrix mean = Matrix::Zero(kSize, kSize);
  for (const Matrix& gradient : gradients) mean += gradient / static_cast<double>(gradients.size());
  double sum = 0;
  for (const Matrix& gradient : gradients) sum += (gradient - mean).squaredNorm();
  return sum / static_cast<double>(gradients.size());
}

// Of block i, for an upstream gradient e_k(s): sum over k of (W_k ... W_{i+1})' e_k (W_{i-1} ... W_1 x)'.
template <class Upstream>
double narrow_variance(const Draw& draw, int i, const Upstream& upstream) {
  const Matrix before = draw.cell.before(i);
  std::vector<Matrix> gradients;
  for (int s = 0; s < kSamples; ++s) {
    Vector error = Vector::Zero(kSize);
    for (int k = i; k < kNodes; ++k) error += draw.cell.after(i, k).transpose() * upstream(s, k);
    gradients.push_back(error * (before * draw.inputs[s]).transpose());
  }
  return variance(gradients);
}

void measure(double deviation, const TheoryOptions& options, const std::string& purpose, TheoryClaim& shared,
             TheoryClaim& actual) {
  for (int number = 0; number < options.draws; ++number) {
    RandomStream random(options.seed, purpose, {static_cast<uint64_t>(number)});
    const Draw draw = draw_problem(deviation, random);
    const auto wide = [&](int s, int k) { return Vector(draw.cell.weights[k] * draw.inputs[s] - draw.targets[s][k]); };
    const auto narrow = [&](int s, int k) {
      return Vector(draw.cell.before(k + 1) * draw.inputs[s] - draw.targets[s][k]);
    };
    std::vector<double> widest;
    for (int k = 0; k < kNodes; ++k) {
      std::vector<Matrix> gradients;
      for (int s = 0; s < kSamples; ++s) gradients.push_back(wide(s, k) * draw.inputs[s].transpose());
      widest.push_back(variance(gradients));
    }
    for (int i = 0; i < kNodes; ++i) {
      double bound = 0;
      for (int k = i; k < kNodes; ++k) {
        bound += kNodes * widest[k] * std::pow(draw.cell.norms_before(i) * draw.cell.norms_after(i, k), 2);
      }
      shared.add(narrow_variance(draw, i, wide), bound);
      actual.add(narrow_variance(draw, i, narrow), bound);
    }
  }
}

TheoryResult gradient_variance(const TheoryOptions& options) {
  TheoryClaim shared{"gradients shared", "measured", "bound"},
      actual{"true gradients, weights 1.5", "measured", "bound"};
  TheoryClaim small{"true gradients, weights 1", "measured", "bound"}, ignored;
  actual.proven = small.proven = false;
  measure(1.5 / std::sqrt(kSize), options, "variance", shared, actual);
  measure(1 / std::sqrt(kSize), options, "variance of small weights", ignored, small);
  TheoryResult result{.statement =
                          "Theorem 4.3: the gradient variance of block i of the narrowest cell is at most n "
                          "times a sum of the widest's, scaled by the norms of all other matrices",
                      .claims = {shared, actual, small}};
  result.notes.emplace_back(fmt::format(
      "{} nodes of {} numbers, {} samples, f = half |z - t|^2, weights of deviation 1.5 or 1 over sqrt({}). As in "
      "Theorem 4.2 the proof shares the upstream gradient; the product of norms leaves out block i instead of dividing "
      "by its norm.",
      kNodes, kSize, kSamples, kSize));
  return result;
}

}  // namespace

NASCENT_REGISTER(Theory, "variance", "gradient variance of narrow cells (Understanding, Theorem 4.3)",
                 gradient_variance);

}  // namespace nascent::theory_variance
