#include "nascent/nn/convolution.h"

#include <ATen/ATen.h>
#include <ATen/autocast_mode.h>
#include <torch/csrc/autograd/custom_function.h>

namespace nascent {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

struct Geometry {
  std::vector<int64_t> stride, padding, dilation;
  int64_t groups = 1;

  void save(AutogradContext* context) const {
    context->saved_data["stride"] = stride;
    context->saved_data["padding"] = padding;
    context->saved_data["dilation"] = dilation;
    context->saved_data["groups"] = groups;
  }
  static Geometry of(AutogradContext* context) {
    auto& data = context->saved_data;
    return {data["stride"].toIntVector(), data["padding"].toIntVector(), data["dilation"].toIntVector(),
            data["groups"].toInt()};
  }

  // Gradients of input and weight where they are wanted, else undefined.
  std::pair<at::Tensor, at::Tensor> backward(const at::Tensor& gradient, const at::Tensor& x, const at::Tensor& weight,
                                             bool of_x, bool of_weight) const {
    auto [x_gradient, weight_gradient, bias_gradient] =
        at::convolution_backward(gradient, x, weight, /*bias_sizes=*/c10::nullopt, stride, padding, dilation,
                                 /*transposed=*/false, /*output_padding=*/{0, 0}, groups, {of_x, of_weight, false});
    return {x_gradient, weight_gradient};
  }
};

// Three functions, each linear in both of its arguments, and the derivatives of each are the other two.
at::Tensor convolved(const at::Tensor& x, const at::Tensor& weight, const Geometry& geometry);
at::Tensor input_gradient(const at::Tensor& gradient, const at::Tensor& weight, at::IntArrayRef sizes,
                          const Geometry& geometry);
at::Tensor weight_gradient(const at::Tensor& x, const at::Tensor& gradient, at::IntArrayRef sizes,
                           const Geometry& geometry);

// Stands for a tensor of which only the shape is read.
at::Tensor shape_only(at::IntArrayRef sizes, const at::Tensor& like) {
  return at::empty(sizes, like.options().memory_format(like.suggest_memory_format()));
}

class ConvolutionFunction : public Function<ConvolutionFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& weight,
                            const Geometry& geometry) {
    context->save_for_backward({x, weight});
    geometry.save(context);
    return at::conv2d(x, weight, {}, geometry.stride, geometry.padding, geometry.dilation, geometry.groups);
  }
  static variable_list backward(AutogradContext* context, const variable_list& outer) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor &x = saved[0], &weight = saved[1], &gradient = outer[0];
    const Geometry geometry = Geometry::of(context);
    const bool of_x = context->needs_input_grad(0), of_weight = context->needs_input_grad(1);
    if (!at::GradMode::is_enabled()) {  // both by one call
      auto [x_gradient, weight_gradient] = geometry.backward(gradient, x, weight, of_x, of_weight);
      return {x_gradient, weight_gradient, {}};
    }
    variable_list found(3);
    if (of_x) found[0] = input_gradient(gradient, weight, x.sizes(), geometry);
    if (of_weight) found[1] = weight_gradient(x, gradient, weight.sizes(), geometry);
    return found;
  }
};

class InputGradientFunction : public Function<InputGradientFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& gradient, const at::Tensor& weight,
                            const std::vector<int64_t>& sizes, const Geometry& geometry) {
    context->save_for_backward({gradient, weight});
    geometry.save(context);
    return geometry.backward(gradient, shape_only(sizes, gradient), weight, true, false).first;
  }
  static variable_list backward(AutogradContext* context, const variable_list& outer) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor &gradient = saved[0], &weight = saved[1];
    const Geometry geometry = Geometry::of(context);
    variable_list found(4);
    if (context->needs_input_grad(0)) found[0] = convolved(outer[0], weight, geometry);
    if (context->needs_input_grad(1)) found[1] = weight_gradient(outer[0], gradient, weight.sizes(), geometry);
    return found;
  }
};

class WeightGradientFunction : public Function<WeightGradientFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& gradient,
                            const std::vector<int64_t>& sizes, const Geometry& geometry) {
    context->save_for_backward({x, gradient});
    geometry.save(context);
    return geometry.backward(gradient, x, at::empty(sizes, x.options()), false, true).second;
  }
  static variable_list backward(AutogradContext* context, const variable_list& outer) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor &x = saved[0], &gradient = saved[1];
    const Geometry geometry = Geometry::of(context);
    variable_list found(4);
    if (context->needs_input_grad(0)) found[0] = input_gradient(gradient, outer[0], x.sizes(), geometry);
    if (context->needs_input_grad(1)) found[1] = convolved(x, outer[0], geometry);
    return found;
  }
};

at::Tensor convolved(const at::Tensor& x, const at::Tensor& weight, const Geometry& geometry) {
  return ConvolutionFunction::apply(x, weight, geometry);
}
at::Tensor input_gradient(const at::Tensor& gradient, const at::Tensor& weight, at::IntArrayRef sizes,
                          const Geometry& geometry) {
  return InputGradientFunction::apply(gradient, weight, sizes.vec(), geometry);
}
at::Tensor weight_gradient(const at::Tensor& x, const at::Tensor& gradient, at::IntArrayRef sizes,
                           const Geometry& geometry) {
  return WeightGradientFunction::apply(x, gradient, sizes.vec(), geometry);
}

}  // namespace

at::Tensor convolution(const Stage& stage, const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  const Geometry geometry = {{stage.stride_h, stage.stride_w},
                             {stage.padding_h, stage.padding_w},
                             {stage.dilation, stage.dilation},
                             stage.groups};
  // LibTorch's autocast changes the type of what a convolution reads, which only its own backward pass knows of.
  if (at::autocast::is_cpu_enabled())
    return at::conv2d(x, weight, bias, geometry.stride, geometry.padding, geometry.dilation, geometry.groups);
  const at::Tensor y = convolved(x, weight, geometry);
  // Outside, because functions of autograd take no undefined tensors.
  return bias.defined() ? y + bias.view({1, -1, 1, 1}) : y;
}

}  // namespace nascent
