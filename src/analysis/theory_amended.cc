// Amended DARTS, eq. 7, A.1 and A.5: whether the amended term points the way of the true one.
#include <ATen/ATen.h>

#include <Eigen/Cholesky>
#include <cmath>

#include "nascent/analysis/gated_cell.h"
#include "nascent/analysis/theory.h"
#include "nascent/search/one_shot/gradient.h"

namespace nascent::theory_amended {
namespace {

constexpr int kWeights = 6, kParameters = 3;

// A.1: training loss (w - a)^2, validation loss (2w - a)^2, at the training optimum w = a. The library's own term.
double toy_term(double alpha, double coefficient) {
  const at::Tensor w = at::full({1}, alpha, at::kDouble).requires_grad_(true);
  const at::Tensor a = at::full({1}, alpha, at::kDouble).requires_grad_(true);
  BilevelLosses losses;
  losses.train = [&] { return (w - a).square().sum(); };
  losses.valid = [&] { return (2 * w - a).square().sum(); };
  losses.weights = {w};
  losses.architecture = {a};
  return amended_term(losses, coefficient, Differentiation::exact)[0].item<double>();
}

// <g2', g2> / eta for H, the mixed derivative and the validation gradient.
double inner_product(const Matrix& hessian, const Matrix& mixed, const Vector& gradient) {
  return (mixed * hessian * gradient).dot(mixed * hessian.llt().solve(gradient));
}

TheoryResult amended(const TheoryOptions& options) {
  using Relation = TheoryClaim::Relation;
  TheoryClaim product{"eq. 7: <g2', g2> >= 0", "inner product", "0", Relation::at_least};
  TheoryClaim unrolled{"unrolled: <g2'', g2> >= 0", "inner product", "0", Relation::at_least};
  TheoryClaim form{"A.5: the symmetrised form has no negative eigenvalue", "smallest eigenvalue", "0",
                   Relation::at_least};
  product.proven = unrolled.proven = form.proven = false;
  for (int draw = 0; draw < options.draws; ++draw) {
    RandomStream random(options.seed, "amended", {static_cast<uint64_t>(draw)});
    const Matrix root = normal_matrix(kWeights, kWeights, 1, random);
    const Matrix hessian = root * root.transpose() + 0.1 * Matrix::Identity(kWeights, kWeights);
    const Matrix mixed = normal_matrix(kParameters, kWeights, 1, random);
    const Vector gradient = normal_vector(kWeights, random);
    product.add(inner_product(hessian, mixed, gradient), 0);
    unrolled.add((mixed * gradient).dot(mixed * hessian.llt().solve(gradient)), 0);
    const Matrix inverse = hessian.llt().solve(Matrix::Identity(kWeights, kWeights));
    const Matrix similar = inverse * mixed.transpose() * mixed * hessian;
    form.add(smallest_eigenvalue(similar + similar.transpose()), 0);
  }
  TheoryResult result{.statement = "Eq. 7: the amended term g2' has a non-negative inner product with the true term g2",
                      .claims = {product, unrolled, form}};
  Matrix diagonal = Matrix::Zero(2, 2), row(1, 2);
  diagonal.diagonal() << 1, 4;
  row << 1, -1;
  const double counter = inner_product(diagonal, row, Vector::Ones(2));
  result.numbers["counterexample"] = counter;
  result.numbers["toy_amended"] = toy_term(1, 0.1);  // 16 eta
  FigurePanel panel{"A.1: sign of the whole gradient",
                    "eta (amended), xi (unrolled)",
                    "gradient at alpha = 1; the true one is 2",
                    {}};
  Curve by_amended{"g1 + amended", {}}, by_unrolled{"g1 + unrolled", {}};
  for (int i = 0; i <= 20; ++i) {
    const double eta = 0.02 * i;
    by_amended.points.emplace_back(eta, -2 + toy_term(1, eta));
    by_unrolled.points.emplace_back(eta, -2 + 8 * eta);
  }
  panel.plot.curves = {by_amended, by_unrolled};
  result.panels = {panel};
  result.notes.emplace_back(
      fmt::format("{} weights, {} parameters, H = AA' + 0.1 I. H = diag(1, 4), mixed derivative (1, -1), validation "
                  "gradient (1, 1) "
                  "gives {:.4g}. On A.1 g1 = -2 a, g2 = 4 a and g2' = 16 eta a: the sum has the true sign for eta > "
                  "1/8 only, so not "
                  "at 0.1 (unrolled: for xi > 1/4).",
                  kWeights, kParameters, counter));
  return result;
}

}  // namespace

NASCENT_REGISTER(Theory, "amended", "the direction of the amended term (amended DARTS, eq. 7, A.1, A.5)", amended);

}  // namespace nascent::theory_amended
