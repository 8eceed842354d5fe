// The cell of PR-DARTS's theory (eqs. 3-5): nodes that sum, over the nodes before them, a skip and a convolution with a
// gate each, X_l = sum_s skip * X_s + conv * tanh(W_s^l X_s) / sqrt(m), and a linear layer over all nodes. Inputs are
// vectors (one pixel, kernels of one).
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "nascent/analysis/narrow_cell.h"

namespace nascent {

struct GatedCellShape {
  int nodes = 4, width = 64, inputs = 128;
  bool two_branches = false;  // the shallow cell of Theorem 4: the second half of the nodes starts at the input again
  // The gates of the edge from node s to node l.
  std::function<double(int s, int l)> skip = [](int, int) { return 0.3; };
  std::function<double(int s, int l)> conv = [](int, int) { return 0.3; };
};

class GatedCell {
 public:
  // Standard normal weights. Edges that two shapes share get the same weights from one seed.
  GatedCell(GatedCellShape shape, uint64_t seed);

  double output(const Vector& x) const { return run(x).output; }
  // d output / d weights, of all weights in one row.
  Vector gradient(const Vector& x) const;
  // The Gram matrix of the inputs' gradients.
  Matrix gram(const std::vector<Vector>& inputs) const;
  // The mean over inputs of (output - target)^2 / 2.
  double loss(const std::vector<Vector>& inputs, const Vector& targets) const;
  // One step of gradient descent on that loss.
  void descend(const std::vector<Vector>& inputs, const Vector& targets, double rate);

 private:
  struct Pass {
    std::vector<Vector> nodes;                   // X_0, ...
    std::vector<Vector> first;                   // tanh of the first convolution's result, by branch
    std::vector<std::vector<Vector>> activated;  // tanh(W_s^l X_s), by l and s
    double output = 0;
  };

  bool is_first(int node) const { return node == 0 || (shape_.two_branches && node == shape_.nodes / 2); }
  bool connects(int s, int l) const { return !shape_.two_branches || (s < shape_.nodes / 2) == (l < shape_.nodes / 2); }
  Pass run(const Vector& x) const;
  // Calls `visit(weight, gradient)` for each matrix of weights, in one order.
  template <class Visit>
  void differentiate(const Vector& x, const Pass& pass, const Visit& visit) const;

  GatedCellShape shape_;
  std::vector<Matrix> first_;                 // of the input, by branch
  std::vector<std::vector<Matrix>> weights_;  // W_s^l, by l and s
  std::vector<Matrix> linear_;                // by node
};

// The rate that Theorem 1 promises, without its unknown constant: (3/4) lambda_min(K) sum_s conv^2 times the skips on
// the way to s. `along_path`: the skips t -> t+1, as the text says; otherwise t -> s, as the formula prints.
double promised_rate(const GatedCellShape& shape, const std::vector<Vector>& inputs, bool along_path);

// `count` vectors of length 1.
std::vector<Vector> unit_vectors(int count, int size, RandomStream& random);

double smallest_eigenvalue(const Matrix& symmetric);
double largest_eigenvalue(const Matrix& symmetric);

}  // namespace nascent
