// Products of second derivatives with a vector: the one primitive behind unrolled DARTS, amended DARTS, NASI and GraSP.
//
// Exact products go through a double backward pass; finite differences need only gradients, so they work with any
// kernel, at the cost of two extra passes and an error of order eps^2.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <string>
#include <vector>

namespace nascent {

// A loss as a function of the present values of some tensors; called again after they changed.
using LossFunction = std::function<at::Tensor()>;
using Tensors = std::vector<at::Tensor>;

enum class Differentiation { exact, finite };
Differentiation differentiation(const std::string& name);  // "exact", "finite"

// d/dy of (d loss/dx . v): the mixed product for y other than x, the Hessian product for y = x. Undefined gradients
// come as zeros. Finite differences move x by +-eps v with eps = 0.01 / |v| and put it back, to the bit.
Tensors second_product(const LossFunction& loss, const Tensors& x, const Tensors& v, const Tensors& y,
                       Differentiation how);

// Gradients of `loss` with respect to `inputs`, undefined where it does not depend on one.
Tensors gradients(const at::Tensor& loss, const Tensors& inputs);
// The same with zeros in place of undefined ones.
Tensors dense_gradients(const at::Tensor& loss, const Tensors& inputs);

}  // namespace nascent
