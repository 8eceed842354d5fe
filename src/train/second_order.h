// Products of second derivatives with a vector: the one primitive behind unrolled DARTS, amended DARTS, NASI and GraSP.
//
// Exact products go through a double backward pass. Finite differences need only gradients, so they work with any
// kernel, at the cost of two extra passes. Their step is a compromise: the error of order step^2 grows with it, that of
// rounding falls; moving each layer in proportion to its own weights keeps the balance whatever the size of the
// weights, where DARTS moves all of them together by 0.01. No step makes up for ReLUs and max pools, whose gradient
// jumps: on supernets finite differences and exact products are far apart (docs/recipes.md has the numbers), so what
// counts on the second derivatives takes exact ones.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <string>
#include <vector>

namespace nascent {

// A loss as a function of the present values of some tensors; called again after they changed.
using LossFunction = std::function<at::Tensor()>;
using Tensors = std::vector<at::Tensor>;

enum class Differentiation {
  exact,
  finite,       // the layer that moves most moves by a fixed part of its norm
  finite_darts  // eps = 0.01 / |v|, as DARTS has it
};
Differentiation differentiation(const std::string& name);  // "exact", "finite", "finite-darts"
std::vector<std::string> differentiations();

// d/dy of (d loss/dx . v): the mixed product for y other than x, the Hessian product for y = x. Undefined gradients
// come as zeros. Finite differences move x by +-eps v and put it back, to the bit.
Tensors second_product(const LossFunction& loss, const Tensors& x, const Tensors& v, const Tensors& y,
                       Differentiation how);

// Gradients of `loss` with respect to `inputs`, undefined where it does not depend on one.
Tensors gradients(const at::Tensor& loss, const Tensors& inputs);
// The same with zeros in place of undefined ones.
Tensors dense_gradients(const at::Tensor& loss, const Tensors& inputs);

}  // namespace nascent
