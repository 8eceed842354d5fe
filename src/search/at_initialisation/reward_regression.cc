#include "nascent/search/at_initialisation/reward_regression.h"

#include <ATen/ATen.h>

#include <Eigen/Cholesky>

namespace nascent {

namespace {

// Samples can be few against the choices: in NASI's DARTS space, 100 against 68 free coefficients. A choice among five
// that was drawn 20 times has a sum of squares of 16.
constexpr double kRidge = 3;

}  // namespace

RewardRegression::RewardRegression(int64_t features)
    : products_(at::zeros({features + 2, features + 2}, at::kDouble)) {}

void RewardRegression::observe(const at::Tensor& features, double reward) {
  const at::Tensor row = at::cat(
      {at::ones({1}, at::kDouble), features.detach().reshape(-1).to(at::kDouble), at::full({1}, reward, at::kDouble)});
  products_ += at::outer(row, row);
}

at::Tensor RewardRegression::coefficients() const {
  using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const int64_t size = products_.size(0), features = size - 2;
  const Eigen::Map<const Matrix> sums(products_.data_ptr<double>(), size, size);
  if (sums(0, 0) == 0) return at::zeros({features});
  // About the means: the regression has an intercept, which is not shrunk.
  const Matrix centred = sums - sums.col(0) * sums.row(0) / sums(0, 0);
  const Matrix ridge = kRidge * Matrix::Identity(features, features);
  const Eigen::VectorXd found = (centred.block(1, 1, features, features) + ridge)
                                    .ldlt()
                                    .solve(Eigen::VectorXd(centred.col(size - 1).segment(1, features)));
  at::Tensor coefficients = at::empty({features}, at::kDouble);
  Eigen::Map<Eigen::VectorXd>(coefficients.data_ptr<double>(), features) = found;
  return coefficients.to(at::kFloat);
}

}  // namespace nascent
