// Understanding cell-based NAS, Theorem 4.2: block-wise smoothness of the narrowest cell against the widest.
#include <cmath>

#include "nascent/analysis/narrow_cell.h"
#include "nascent/analysis/theory.h"

namespace nascent::theory_lipschitz {
namespace {

constexpr int kNodes = 3, kSize = 4;

// The objective is half the squared norm of the output, whose gradient is 1-Lipschitz; in the widest cell every block
// then has the constant |x|^2. In the narrowest, block i is a quadratic form: exact constants on both sides.
TheoryResult lipschitz(const TheoryOptions& options) {
  TheoryClaim shared{"printed, gradients shared", "measured", "bound"};
  TheoryClaim printed{"printed, true loss", "measured", "bound"};
  TheoryClaim mended{"mended, true loss", "measured", "bound"};
  printed.proven = false;
  for (int draw = 0; draw < options.draws; ++draw) {
    RandomStream random(options.seed, "lipschitz", {static_cast<uint64_t>(draw)});
    std::vector<Matrix> weights;
    for (int i = 0; i < kNodes; ++i) weights.push_back(normal_matrix(kSize, kSize, 1, random));
    const NarrowCell cell(std::move(weights));
    const Vector x = normal_vector(kSize, random);
    const double widest = x.squaredNorm();
    for (int i = 0; i < kNodes; ++i) {
      const Vector input = cell.before(i) * x;
      Matrix curvature = Matrix::Zero(kSize, kSize);
      double ways = 0;
      for (int k = i; k < kNodes; ++k) {
        const Matrix after = cell.after(i, k);
        curvature += after.transpose() * after;
        ways += std::pow(cell.norms_after(i, k), 2);
      }
      const double measured = spectral_norm(curvature) * input.squaredNorm();
      const double bound = cell.norms_before(i) * widest;
      // As in the proof: the upstream gradient is that of the widest cell, which moves by (W - W')x.
      shared.add(x.norm() * input.norm(), bound);
      printed.add(measured, bound);
      mended.add(measured, widest * std::pow(cell.norms_before(i), 2) * ways);
    }
  }
  TheoryResult result{.statement =
                          "Theorem 4.2: the smoothness of block i of the narrowest cell is at most that of the "
                          "widest, times the norms of the matrices before it",
                      .claims = {shared, printed, mended}};
  result.notes.emplace_back(fmt::format(
      "{} nodes of {} numbers, standard normal weights, f = half the squared output. The proof takes the upstream "
      "gradient of the two cells for the same, which holds only if f is linear; the mended bound is beta |x|^2 "
      "(norms before)^2 times the sum over k of (norms from i to k)^2.",
      kNodes, kSize));
  return result;
}

}  // namespace

NASCENT_REGISTER(Theory, "lipschitz", "block-wise smoothness of narrow cells (Understanding, Theorem 4.2)", lipschitz);

}  // namespace nascent::theory_lipschitz
