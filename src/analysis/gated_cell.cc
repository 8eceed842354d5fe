#include "nascent/analysis/gated_cell.h"

#include <Eigen/Eigenvalues>
#include <cmath>
#include <map>

namespace nascent {

GatedCell::GatedCell(GatedCellShape shape, uint64_t seed) : shape_(std::move(shape)) {
  const int nodes = shape_.nodes, width = shape_.width;
  for (int branch = 0; branch < 2; ++branch) {
    RandomStream random(seed, "gated cell, first", {static_cast<uint64_t>(branch)});
    first_.push_back(normal_matrix(width, shape_.inputs, 1, random));
  }
  weights_.resize(nodes);
  for (int l = 0; l < nodes; ++l) {
    for (int s = 0; s < l; ++s) {
      RandomStream random(seed, "gated cell", {static_cast<uint64_t>(l), static_cast<uint64_t>(s)});
      weights_[l].push_back(normal_matrix(width, width, 1, random));
    }
    RandomStream random(seed, "gated cell, linear", {static_cast<uint64_t>(l)});
    linear_.push_back(normal_matrix(width, 1, 1, random));
  }
}

GatedCell::Pass GatedCell::run(const Vector& x) const {
  const double scale = 1 / std::sqrt(shape_.width);
  Pass pass;
  pass.activated.resize(shape_.nodes);
  for (int l = 0; l < shape_.nodes; ++l) {
    Vector node = Vector::Zero(shape_.width);
    if (is_first(l)) {
      pass.first.push_back((first_[l == 0 ? 0 : 1] * x).array().tanh());
      node = scale * pass.first.back();
    }
    for (int s = 0; s < l; ++s) {
      pass.activated[l].emplace_back();
      if (!connects(s, l)) continue;
      pass.activated[l][s] = (weights_[l][s] * pass.nodes[s]).array().tanh();
      node += shape_.skip(s, l) * pass.nodes[s] + shape_.conv(s, l) * scale * pass.activated[l][s];
    }
    pass.output += linear_[l].col(0).dot(node);
    pass.nodes.push_back(std::move(node));
  }
  return pass;
}

template <class Visit>
void GatedCell::differentiate(const Vector& x, const Pass& pass, const Visit& visit) const {
  const double scale = 1 / std::sqrt(shape_.width);
  std::vector<Vector> flow;
  for (int l = 0; l < shape_.nodes; ++l) flow.emplace_back(linear_[l].col(0));
  for (int l = shape_.nodes - 1; l >= 0; --l) {
    for (int s = 0; s < l; ++s) {
      if (!connects(s, l)) continue;
      const Vector slope = shape_.conv(s, l) * scale * (flow[l].array() * (1 - pass.activated[l][s].array().square()));
      visit(weights_[l][s], slope, pass.nodes[s]);
      flow[s] += shape_.skip(s, l) * flow[l] + weights_[l][s].transpose() * slope;
    }
    if (is_first(l)) {
      const int branch = l == 0 ? 0 : 1;
      visit(first_[branch], scale * (flow[l].array() * (1 - pass.first[branch].array().square())).matrix(), x);
    }
    visit(linear_[l], pass.nodes[l], Vector::Ones(1));
  }
}

Vector GatedCell::gradient(const Vector& x) const {
  std::vector<double> all;
  differentiate(x, run(x), [&](const Matrix&, const Vector& slope, const Vector& input) {
    const Matrix outer = slope * input.transpose();
    all.insert(all.end(), outer.data(), outer.data() + outer.size());
  });
  return Eigen::Map<const Vector>(all.data(), static_cast<Eigen::Index>(all.size()));
}

Matrix GatedCell::gram(const std::vector<Vector>& inputs) const {
  Matrix rows(inputs.size(), gradient(inputs[0]).size());
  for (size_t i = 0; i < inputs.size(); ++i) rows.row(static_cast<Eigen::Index>(i)) = gradient(inputs[i]).transpose();
  return rows * rows.transpose();
}

double GatedCell::loss(const std::vector<Vector>& inputs, const Vector& targets) const {
  double sum = 0;
  for (size_t i = 0; i < inputs.size(); ++i) sum += std::pow(output(inputs[i]) - targets(static_cast<int>(i)), 2) / 2;
  return sum / static_cast<double>(inputs.size());
}

void GatedCell::descend(const std::vector<Vector>& inputs, const Vector& targets, double rate) {
  std::map<const Matrix*, Matrix> steps;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Pass pass = run(inputs[i]);
    const double error = (pass.output - targets(static_cast<int>(i))) / static_cast<double>(inputs.size());
    differentiate(inputs[i], pass, [&](const Matrix& weight, const Vector& slope, const Vector& input) {
      Matrix& step = steps[&weight];
      if (step.size() == 0) step = Matrix::Zero(weight.rows(), weight.cols());
      step.noalias() += (error * slope) * input.transpose();
    });
  }
  const auto move = [&](Matrix& weight) {
    if (const auto step = steps.find(&weight); step != steps.end()) weight -= rate * step->second;
  };
  for (Matrix& weight : first_) move(weight);
  for (auto& row : weights_) {
    for (Matrix& weight : row) move(weight);
  }
  for (Matrix& weight : linear_) move(weight);
}

double promised_rate(const GatedCellShape& shape, const std::vector<Vector>& inputs, bool along_path) {
  double least = INFINITY;
  for (size_t i = 0; i < inputs.size(); ++i) {
    for (size_t j = i + 1; j < inputs.size(); ++j) {
      Eigen::Matrix2d kernel;
      kernel << inputs[i].dot(inputs[i]), inputs[i].dot(inputs[j]), inputs[j].dot(inputs[i]), inputs[j].dot(inputs[j]);
      least = std::min(least, smallest_eigenvalue(kernel));
    }
  }
  const int last = shape.nodes - 1;
  double sum = 0;
  for (int s = 0; s < last; ++s) {
    double way = std::pow(shape.conv(s, last), 2);
    for (int t = 0; t < s; ++t) way *= std::pow(shape.skip(t, along_path ? t + 1 : s), 2);
    sum += way;
  }
  return 0.75 * least * sum;
}

std::vector<Vector> unit_vectors(int count, int size, RandomStream& random) {
  std::vector<Vector> vectors;
  for (int i = 0; i < count; ++i) vectors.push_back(normal_vector(size, random).normalized());
  return vectors;
}

double smallest_eigenvalue(const Matrix& symmetric) {
  return Eigen::SelfAdjointEigenSolver<Matrix>(symmetric, Eigen::EigenvaluesOnly).eigenvalues()(0);
}

double largest_eigenvalue(const Matrix& symmetric) {
  return Eigen::SelfAdjointEigenSolver<Matrix>(symmetric, Eigen::EigenvaluesOnly).eigenvalues()(symmetric.rows() - 1);
}

}  // namespace nascent
