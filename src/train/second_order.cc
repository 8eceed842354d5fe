#include "nascent/train/second_order.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "nascent/core/error.h"
#include "nascent/core/text.h"

namespace nascent {

namespace {

const std::vector<std::pair<std::string, Differentiation>> kNames = {{"exact", Differentiation::exact},
                                                                     {"finite", Differentiation::finite},
                                                                     {"finite-darts", Differentiation::finite_darts}};

}  // namespace

std::vector<std::string> differentiations() {
  std::vector<std::string> names;
  for (const auto& [name, how] : kNames) names.push_back(name);
  return names;
}

Differentiation differentiation(const std::string& name) {
  for (const auto& [known, how] : kNames) {
    if (known == name) return how;
  }
  fail("Second derivatives are computed by one of {}, not '{}'.", join(differentiations(), ", "), name);
}

Tensors gradients(const at::Tensor& loss, const Tensors& inputs) {
  if (inputs.empty() || !loss.requires_grad()) return Tensors(inputs.size());
  return torch::autograd::grad({loss}, inputs, {}, /*retain_graph=*/c10::nullopt, /*create_graph=*/false,
                               /*allow_unused=*/true);
}

namespace {

Tensors zeros_for_undefined(Tensors values, const Tensors& like) {
  for (size_t i = 0; i < values.size(); ++i) {
    if (!values[i].defined()) values[i] = at::zeros_like(like[i]);
  }
  return values;
}

Tensors exact_product(const LossFunction& loss, const Tensors& x, const Tensors& v, const Tensors& y) {
  const Tensors first =
      torch::autograd::grad({loss()}, x, {}, /*retain_graph=*/true, /*create_graph=*/true, /*allow_unused=*/true);
  at::Tensor product = at::zeros({}, x[0].options());
  for (size_t i = 0; i < x.size(); ++i) {
    if (first[i].defined() && first[i].requires_grad()) product = product + (first[i] * v[i]).sum();
  }
  return dense_gradients(product, y);
}

Tensors gradients_at(const LossFunction& loss, const Tensors& x, const Tensors& saved, const Tensors& v, double eps,
                     const Tensors& y) {
  {
    at::NoGradGuard no_grad;
    for (size_t i = 0; i < x.size(); ++i) at::Tensor(x[i]).copy_(saved[i]).add_(v[i], eps);
  }
  return dense_gradients(loss(), y);
}

double norm_of(const at::Tensor& tensor) { return tensor.detach().to(at::kDouble).norm().item<double>(); }

// For float: the part of its norm by which the layer that moves most is moved. Measured on supernets: docs/recipes.md.
constexpr double kFloatMove = 0.03;

// The step that central differences of `precision` like best is proportional to its cube root.
double relative_move(at::ScalarType precision) {
  if (precision != at::kDouble) return kFloatMove;
  return kFloatMove * std::cbrt(std::numeric_limits<double>::epsilon() / std::numeric_limits<float>::epsilon());
}

// How far x is moved along v; 0 where v is 0.
double step_along(const Tensors& x, const Tensors& v, Differentiation how) {
  double square = 0, fastest = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double move = norm_of(v[i]), size = norm_of(x[i]);
    square += move * move;
    if (size > 0) fastest = std::max(fastest, move / size);
  }
  if (square == 0) return 0;
  // Weights that are all 0 have no size to go by.
  if (how == Differentiation::finite_darts || fastest == 0) return 0.01 / std::sqrt(square);
  return relative_move(x[0].scalar_type()) / fastest;
}

Tensors finite_product(const LossFunction& loss, const Tensors& x, const Tensors& v, const Tensors& y,
                       Differentiation how) {
  const double eps = step_along(x, v, how);
  if (eps == 0) return zeros_for_undefined(Tensors(y.size()), y);
  Tensors saved;
  for (const auto& tensor : x) saved.push_back(tensor.detach().clone());
  Tensors product = gradients_at(loss, x, saved, v, eps, y);
  const Tensors minus = gradients_at(loss, x, saved, v, -eps, y);
  at::NoGradGuard no_grad;
  for (size_t i = 0; i < x.size(); ++i) at::Tensor(x[i]).copy_(saved[i]);
  for (size_t i = 0; i < y.size(); ++i) product[i] = (product[i] - minus[i]) / (2 * eps);
  return product;
}

}  // namespace

Tensors dense_gradients(const at::Tensor& loss, const Tensors& inputs) {
  return zeros_for_undefined(gradients(loss, inputs), inputs);
}

Tensors second_product(const LossFunction& loss, const Tensors& x, const Tensors& v, const Tensors& y,
                       Differentiation how) {
  return how == Differentiation::exact ? exact_product(loss, x, v, y) : finite_product(loss, x, v, y, how);
}

}  // namespace nascent
