#include "nascent/train/second_order.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>

#include "nascent/core/error.h"

namespace nascent {

Differentiation differentiation(const std::string& name) {
  if (name == "exact") return Differentiation::exact;
  if (name == "finite") return Differentiation::finite;
  fail("Second derivatives are taken 'exact' or 'finite', not '{}'.", name);
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

Tensors finite_product(const LossFunction& loss, const Tensors& x, const Tensors& v, const Tensors& y) {
  double square = 0;
  for (const auto& part : v) square += part.to(at::kDouble).square().sum().item<double>();
  if (square == 0) return zeros_for_undefined(Tensors(y.size()), y);
  const double eps = 0.01 / std::sqrt(square);
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
  return how == Differentiation::exact ? exact_product(loss, x, v, y) : finite_product(loss, x, v, y);
}

}  // namespace nascent
