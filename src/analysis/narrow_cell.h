// Matrices of the theory, and its narrowest cell: n weight matrices one after the other.
#pragma once

#include <Eigen/Core>
#include <vector>

#include "nascent/core/random.h"

namespace nascent {

using Matrix = Eigen::MatrixXd;
using Vector = Eigen::VectorXd;

Matrix normal_matrix(int rows, int columns, double deviation, RandomStream& random);
Vector normal_vector(int size, RandomStream& random);
// The largest singular value.
double spectral_norm(const Matrix& matrix);

// W1 ... Wn of a narrow cell (nodes y_k = W_k ... W_1 x), seen from block i.
struct NarrowCell {
  std::vector<Matrix> weights{};
  std::vector<double> norms{};  // spectral

  explicit NarrowCell(std::vector<Matrix> matrices);
  int size() const { return static_cast<int>(weights.size()); }
  Matrix before(int i) const;        // W_{i-1} ... W_1
  Matrix after(int i, int k) const;  // W_k ... W_{i+1}
  double norms_before(int i) const;  // products of spectral norms along the same ways
  double norms_after(int i, int k) const;
};

}  // namespace nascent
