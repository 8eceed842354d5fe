#include "nascent/analysis/narrow_cell.h"

#include <Eigen/SVD>

namespace nascent {

Matrix normal_matrix(int rows, int columns, double deviation, RandomStream& random) {
  Matrix matrix(rows, columns);
  for (int r = 0; r < rows; ++r) {
    for (int c = 0; c < columns; ++c) matrix(r, c) = deviation * random.normal();
  }
  return matrix;
}

Vector normal_vector(int size, RandomStream& random) { return normal_matrix(size, 1, 1, random); }

double spectral_norm(const Matrix& matrix) { return Eigen::JacobiSVD<Matrix>(matrix).singularValues()(0); }

NarrowCell::NarrowCell(std::vector<Matrix> matrices) : weights(std::move(matrices)) {
  for (const Matrix& matrix : weights) norms.push_back(spectral_norm(matrix));
}

Matrix NarrowCell::before(int i) const {
  Matrix product = Matrix::Identity(weights[0].cols(), weights[0].cols());
  for (int j = 0; j < i; ++j) product = weights[j] * product;
  return product;
}

Matrix NarrowCell::after(int i, int k) const {
  Matrix product = Matrix::Identity(weights[i].rows(), weights[i].rows());
  for (int j = i + 1; j <= k; ++j) product = weights[j] * product;
  return product;
}

double NarrowCell::norms_before(int i) const {
  double product = 1;
  for (int j = 0; j < i; ++j) product *= norms[j];
  return product;
}

double NarrowCell::norms_after(int i, int k) const {
  double product = 1;
  for (int j = i + 1; j <= k; ++j) product *= norms[j];
  return product;
}

}  // namespace nascent
