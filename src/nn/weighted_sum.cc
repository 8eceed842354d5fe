#include "nascent/nn/weighted_sum.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

namespace nascent {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// One-dimensional, without a copy where `x` is stored in `format`.
at::Tensor flat(const at::Tensor& x, at::MemoryFormat format) {
  if (x.dim() == 4 && format == at::MemoryFormat::ChannelsLast) return x.permute({0, 2, 3, 1}).reshape({-1});
  return x.reshape({-1});
}

// The plain expression would keep a product per term and make another one per term in the backward pass.
class WeightedSumFunction : public torch::autograd::Function<WeightedSumFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, at::Tensor weights, at::TensorList values) {
    variable_list saved = values.vec();
    saved.push_back(weights);
    context->save_for_backward(std::move(saved));
    at::Tensor sum = values[0] * factor(weights, 0);
    for (size_t i = 1; i < values.size(); ++i) sum.addcmul_(values[i], factor(weights, i));
    return sum;
  }

  static variable_list backward(AutogradContext* context, variable_list outer) {
    variable_list values = context->get_saved_variables();
    const at::Tensor weights = values.back(), &grad = outer[0];
    values.pop_back();
    variable_list grads(1);
    if (weights.requires_grad())
      grads[0] = weights.dim() == 1 ? weight_gradient(grad, values) : image_gradients(grad, values);
    for (size_t i = 0; i < values.size(); ++i) {
      grads.push_back(values[i].requires_grad() ? grad * factor(weights, i) : at::Tensor());
    }
    return grads;
  }

 private:
  // Weight i, shaped to multiply a value: one number, or one per image.
  static at::Tensor factor(const at::Tensor& weights, size_t i) {
    const at::Tensor weight = weights[static_cast<int64_t>(i)];
    return weight.dim() == 0 ? weight : weight.view({-1, 1, 1, 1});
  }

  static at::Tensor image_gradients(const at::Tensor& grad, const variable_list& values) {
    variable_list rows;
    for (const at::Tensor& value : values) rows.push_back((grad * value).sum(at::IntArrayRef{1, 2, 3}));
    return at::stack(rows);
  }

  static at::Tensor weight_gradient(const at::Tensor& grad, const variable_list& values) {
    const at::MemoryFormat format = values[0].suggest_memory_format();
    const at::Tensor flat_grad = flat(grad, format);
    variable_list dots;
    // Under LibTorch's autocast, some values are of another type than the rest.
    for (const at::Tensor& value : values)
      dots.push_back(at::dot(flat_grad, flat(value, format).to(flat_grad.scalar_type())));
    return at::stack(dots);
  }
};

}  // namespace

at::Tensor weighted_sum(const std::vector<at::Tensor>& values, const at::Tensor& weights) {
  return WeightedSumFunction::apply(weights, at::TensorList(values));
}

void WeightedSum::add(const std::vector<at::Tensor>& values, const at::Tensor& weights) {
  if (values.empty()) {
    weightless_.push_back(weights);
    return;
  }
  weighted_.insert(weighted_.end(), values.begin(), values.end());
  weights_.push_back(weights);
}

at::Tensor WeightedSum::result(at::IntArrayRef sizes, const at::Tensor& like) const {
  at::Tensor sum;
  if (!weighted_.empty()) sum = weighted_sum(weighted_, weights_.size() == 1 ? weights_[0] : at::cat(weights_));
  for (const at::Tensor& value : plain_) sum = sum.defined() ? sum + value : value;
  if (sum.defined()) return sum;
  sum = at::zeros(sizes, like.options().memory_format(like.suggest_memory_format()));
  for (const at::Tensor& weights : weightless_) {
    if (weights.requires_grad()) sum = sum + 0 * weights.sum();
  }
  return sum;
}

}  // namespace nascent
