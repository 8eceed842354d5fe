// PR-DARTS, Theorem 4: whether gradient descent prefers shallow cells.
#include <cmath>

#include "nascent/analysis/gated_cell.h"
#include "nascent/analysis/theory.h"

namespace nascent::theory_shallow {
namespace {

constexpr int kInputs = 8;

GatedCellShape shape_of(bool shallow, double skip) {
  GatedCellShape shape{.nodes = 6, .two_branches = shallow};
  shape.skip = [skip](int, int) { return skip; };
  return shape;
}

TheoryResult shallow(const TheoryOptions& options) {
  TheoryResult result{.statement =
                          "Theorem 4: the shallow cell of two branches has the larger lambda, so gradient descent "
                          "reduces its loss faster than the deep cell's"};
  Curve share{"shallow is larger", {}};
  const int draws = std::max(1, options.draws / 15);
  for (const double skip : {0.05, 0.1, 0.15, 0.2, 0.3, 0.5}) {
    TheoryClaim claim{fmt::format("lambda_min(G), skip gates {}", skip), "shallow", "deep",
                      TheoryClaim::Relation::at_least};
    claim.proven = false;
    for (int draw = 0; draw < draws; ++draw) {
      RandomStream random(options.seed, "shallow", {static_cast<uint64_t>(draw)});
      const auto inputs = unit_vectors(kInputs, GatedCellShape{}.inputs, random);
      const uint64_t seed = options.seed * 104729 + static_cast<uint64_t>(draw);
      claim.add(smallest_eigenvalue(GatedCell(shape_of(true, skip), seed).gram(inputs)),
                smallest_eigenvalue(GatedCell(shape_of(false, skip), seed).gram(inputs)));
    }
    share.points.emplace_back(skip, 100.0 * static_cast<double>(claim.held()) / draws);
    result.claims.push_back(std::move(claim));
  }
  FigurePanel panel{"How often the shallow cell is ahead", "skip gates", "% of draws", {}};
  panel.plot.curves = {share};
  panel.plot.top = 105;
  result.panels = {panel};
  result.notes.emplace_back(
      "6 nodes, 64 channels, convolution gates 0.3, the same weights on the edges that both cells have. The theorem "
      "compares two lower bounds, and a larger lower bound is no faster descent.");
  return result;
}

}  // namespace

NASCENT_REGISTER(Theory, "shallow", "shallow against deep cells under gradient descent (PR-DARTS, Theorem 4)", shallow);

}  // namespace nascent::theory_shallow
