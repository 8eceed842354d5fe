#include "nascent/score/passes.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

#include <array>
#include <cmath>
#include <stdexcept>

namespace nascent {

namespace {

using Pair = std::array<int64_t, 2>;

struct Window {
  Pair kernel, stride, padding, dilation;
  explicit Window(const Stage& s)
      : kernel{s.kernel_h, s.kernel_w},
        stride{s.stride_h, s.stride_w},
        padding{s.padding_h, s.padding_w},
        dilation{s.dilation, s.dilation} {}
};

at::Tensor convolve(const Stage& stage, const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias = {}) {
  const Window w(stage);
  return channels_last(at::conv2d(x, weight, bias, w.stride, w.padding, w.dilation, stage.groups));
}

std::tuple<at::Tensor, at::Tensor> convolve_backward(const Step& step, const at::Tensor& x, const at::Tensor& gradient,
                                                     bool of_input) {
  const Window w(step.stage);
  const auto [dx, dw, db] =
      at::convolution_backward(gradient, x, step.weight, at::OptionalIntArrayRef(), w.stride, w.padding, w.dilation,
                               false, {0, 0}, step.stage.groups, {of_input, !of_input, false});
  return {dx, dw};
}

// Windows that keep the image's size: the average pooling of most cells, for which there is a faster kernel.
bool keeps_size(const Stage& s) {
  return s.stride_h == 1 && s.stride_w == 1 && s.kernel_h == s.kernel_w && s.kernel_h % 2 == 1 &&
         s.padding_h == s.kernel_h / 2 && s.padding_w == s.kernel_w / 2;
}

at::Tensor shifted(const at::Tensor& x) {
  const int64_t odd_h = x.size(2) % 2, odd_w = x.size(3) % 2;
  const at::Tensor even = odd_h + odd_w > 0 ? at::constant_pad_nd(x, {0, odd_w, 0, odd_h}) : x;
  return even.slice(2, 1).slice(3, 1);
}

at::Tensor unshifted(const at::Tensor& gradient, const Shape& shape) {
  return at::constant_pad_nd(gradient, {1, 0, 1, 0}).narrow(2, 0, shape.height).narrow(3, 0, shape.width);
}

at::Tensor concatenated(const Step& step, const std::vector<at::Tensor>& in) {
  at::Tensor like;
  for (const at::Tensor& part : in) {
    if (part.defined()) like = part;
  }
  std::vector<at::Tensor> parts;
  for (size_t i = 0; i < in.size(); ++i) {
    parts.push_back(in[i].defined() ? in[i]
                                    : at::zeros({like.size(0), step.widths[i], like.size(2), like.size(3)},
                                                like.options().memory_format(at::MemoryFormat::ChannelsLast)));
  }
  return channels_last(at::cat(parts, 1));
}

at::Tensor zeros(const Step& step, const at::Tensor& like) {
  return at::zeros({like.size(0), step.widths[0], step.widths[1], step.widths[2]},
                   like.options().memory_format(at::MemoryFormat::ChannelsLast));
}

at::Tensor detached(const at::Tensor& x) { return x.defined() ? x.detach() : x; }

at::Tensor summed(const std::vector<at::Tensor>& in) {
  at::Tensor sum;
  for (const at::Tensor& term : in) {
    if (term.defined()) sum = sum.defined() ? sum + term : term;
  }
  return sum;
}

ChannelValues values_of(const at::Tensor& x) {
  const at::Tensor numbers = x.detach().to(at::kDouble).contiguous();
  return {numbers.data_ptr<double>(), numbers.data_ptr<double>() + numbers.numel()};
}

ChannelValues rates(const ChannelValues& variance) {
  ChannelValues rate(variance.size());
  for (size_t c = 0; c < rate.size(); ++c) rate[c] = 1 / std::sqrt(variance[c] + kNormEpsilon);
  return rate;
}

// The normalised images, scaled and shifted: factor * x + constant.
at::Tensor normalise(const Step& step, const at::Tensor& x, bool running, Trace::Norm& norm) {
  if (running) {
    norm = running_norm(step);
  } else {
    std::tie(norm.mean, norm.variance) = channel_moments(x);
    norm.rate = rates(norm.variance);
  }
  const size_t channels = norm.mean.size();
  ChannelValues factor = norm.rate, constant(channels);
  if (step.scale.defined()) {
    const ChannelValues scale = values_of(step.scale);
    for (size_t c = 0; c < channels; ++c) factor[c] *= scale[c];
    constant = values_of(step.bias);
  }
  for (size_t c = 0; c < channels; ++c) constant[c] -= factor[c] * norm.mean[c];
  return combine_channels({{x, factor}}, constant);
}

ChannelValues scaled_rate(const Step& step, const Trace::Norm& norm) {
  ChannelValues factor = norm.rate;
  if (!step.scale.defined()) return factor;
  const ChannelValues scale = values_of(step.scale);
  for (size_t c = 0; c < factor.size(); ++c) factor[c] *= scale[c];
  return factor;
}

at::Tensor normalise_backward(const Step& step, const at::Tensor& x, const Trace::Norm& norm,
                              const at::Tensor& gradient, Statistics statistics) {
  const ChannelValues factor = scaled_rate(step, norm);
  if (statistics == Statistics::constant) return combine_channels({{gradient, factor}}, ChannelValues(factor.size()));
  // factor * (g - mean(g) - x^ mean(g x^)), with x^ = rate * (x - mean).
  const ChannelValues g = channel_means(gradient), gx = channel_means(gradient, x);
  ChannelValues of_x(factor.size()), constant(factor.size());
  for (size_t c = 0; c < factor.size(); ++c) {
    of_x[c] = -factor[c] * norm.rate[c] * norm.rate[c] * (gx[c] - g[c] * norm.mean[c]);
    constant[c] = -factor[c] * g[c] - of_x[c] * norm.mean[c];
  }
  return combine_channels({{gradient, factor}, {x, of_x}}, constant);
}

// --- steps that LibTorch computes and differentiates ---

at::Tensor gradient_or_zeros(const at::Tensor& y, const at::Tensor& x, const at::Tensor& seed, bool again) {
  if (!y.requires_grad()) return at::zeros_like(x);
  const at::Tensor found = torch::autograd::grad({y}, {x}, {seed}, true, again, true)[0];
  return found.defined() ? found : at::zeros_like(x);
}

at::Tensor function_backward(const Step& step, const at::Tensor& x, const at::Tensor& gradient) {
  const at::AutoGradMode enabled(true);
  const at::Tensor point = x.detach().requires_grad_();
  return gradient_or_zeros(Layer(step.stage).forward(point), point, gradient, false);
}

// The derivative of y(point) along t: of the gradient, which is linear in its seed, by that seed.
at::Tensor along(const at::Tensor& y, const at::Tensor& point, const at::Tensor& t, bool again) {
  const at::Tensor seed = at::zeros_like(y).requires_grad_();
  return gradient_or_zeros(gradient_or_zeros(y, point, seed, true), seed, t, again);
}

class ForwardPass {
 public:
  ForwardPass(const Tape& tape, const at::Tensor& images, Keep keep) : tape_(tape), keep_(keep) {
    trace_.values.resize(tape.values());
    trace_.norms.resize(tape.steps().size());
    trace_.indices.resize(tape.steps().size());
    trace_.values[Tape::kImage] = channels_last(images);
  }

  Trace run() {
    for (size_t i = 0; i < tape_.steps().size(); ++i) {
      const Step& step = tape_.steps()[i];
      trace_.values[step.out] = result(i, step);
      for (const int x : step.in) release(x, static_cast<int>(i));
      if (tape_.last_use(step.out) < 0) release(step.out, -1);
    }
    return std::move(trace_);
  }

 private:
  void release(int value, int step) {
    if (keep_ == Keep::everything) return;
    if (value > Tape::kImage && tape_.last_use(value) == step && !tape_.is_kept(value)) trace_.values[value].reset();
  }

  at::Tensor result(size_t i, const Step& step) {
    std::vector<at::Tensor> in;
    for (const int x : step.in) in.push_back(x < 0 ? at::Tensor() : trace_.values[x]);
    const Window w(step.stage);
    switch (step.kind) {
      case StepKind::relu:
        return at::relu(in[0]);
      case StepKind::batch_norm:
        return normalise(step, in[0], tape_.evaluates(), trace_.norms[i]);
      case StepKind::max_pool: {
        const auto [y, indices] = at::max_pool2d_with_indices(in[0], w.kernel, w.stride, w.padding);
        trace_.indices[i] = indices;
        return channels_last(y);
      }
      case StepKind::conv:
        return convolve(step.stage, in[0], step.weight.detach(), detached(step.bias));
      case StepKind::linear: {
        const at::Tensor y = linear_map(step, in, step.weight);
        return step.bias.defined() ? y + step.bias.detach() : y;
      }
      case StepKind::function:
        return channels_last(Layer(step.stage).forward(in[0]));
      case StepKind::avg_pool:
      case StepKind::shift:
      case StepKind::zeros:
      case StepKind::truncate:
      case StepKind::global_avg_pool:
      case StepKind::add:
      case StepKind::scale:
      case StepKind::concat:
        break;
    }
    return linear_map(step, in, {});
  }

  const Tape& tape_;
  Keep keep_;
  Trace trace_;
};

class BackwardPass {
 public:
  BackwardPass(const Tape& tape, const Trace& trace, Statistics statistics, const WeightVisitor& visit, bool to_image,
               Visits visits)
      : tape_(tape),
        trace_(trace),
        statistics_(tape.evaluates() ? Statistics::constant : statistics),
        visit_(visit),
        to_image_(to_image),
        visits_(visits),
        gradients_(tape.values()) {}

  at::Tensor run(const at::Tensor& seed) {
    if (!tape_.is_connected()) return {};
    gradients_[tape_.logits()] = seed;
    for (size_t i = tape_.steps().size(); i-- > 0;) {
      const Step& step = tape_.steps()[i];
      const at::Tensor gradient = std::move(gradients_[step.out]);
      if (gradient.defined()) propagate(i, step, gradient);
    }
    return gradients_[Tape::kImage];
  }

 private:
  bool wanted(int value) const { return value > Tape::kImage || to_image_; }
  bool is_visited(const Step& step) const {
    if (visits_ == Visits::norms && step.kind == StepKind::batch_norm) return true;
    return step.weight.defined() || (visits_ == Visits::parameters && step.scale.defined());
  }

  void add(int value, const at::Tensor& gradient) {
    at::Tensor& sum = gradients_[value];
    sum = sum.defined() ? sum + gradient : gradient;
  }

  // The shape of the step's input, as avg_pool2d_backward wants it: a tensor whose numbers do not matter.
  at::Tensor input_like(const Step& step, const at::Tensor& gradient) const {
    const Shape& shape = tape_.shape(step.in[0]);
    return at::empty({gradient.size(0), shape.channels, shape.height, shape.width},
                     gradient.options().memory_format(at::MemoryFormat::ChannelsLast));
  }

  void propagate(size_t i, const Step& step, const at::Tensor& gradient) {
    if (is_visited(step)) visit_(i, gradient);
    if (step.kind == StepKind::zeros) return;
    if (step.kind == StepKind::add || step.kind == StepKind::concat) return spread(step, gradient);
    if (wanted(step.in[0])) add(step.in[0], input_gradient(i, step, gradient));
  }

  void spread(const Step& step, const at::Tensor& gradient) {
    int64_t first = 0;
    for (size_t k = 0; k < step.in.size(); ++k) {
      const bool part = step.kind == StepKind::concat;
      if (step.in[k] >= 0 && wanted(step.in[k])) {
        add(step.in[k], part ? channels_last(gradient.narrow(1, first, step.widths[k])) : gradient);
      }
      if (part) first += step.widths[k];
    }
  }

  at::Tensor input_gradient(size_t i, const Step& step, const at::Tensor& gradient) {
    const Window w(step.stage);
    const at::Tensor& x = trace_.values[step.in[0]];
    const Shape& shape = tape_.shape(step.in[0]);
    switch (step.kind) {
      case StepKind::relu:
        return at::threshold_backward(gradient, trace_.values[step.out], 0);
      case StepKind::conv:
        return channels_last(std::get<0>(convolve_backward(step, x, gradient, true)));
      case StepKind::batch_norm:
        return normalise_backward(step, x, trace_.norms[i], gradient, statistics_);
      case StepKind::max_pool:
        return at::max_pool2d_with_indices_backward(gradient, x, w.kernel, w.stride, w.padding, w.dilation, false,
                                                    trace_.indices[i]);
      case StepKind::avg_pool:
        if (keeps_size(step.stage)) return average_windows(gradient, step.stage.kernel_h, /*transposed=*/true);
        return at::avg_pool2d_backward(gradient, input_like(step, gradient), w.kernel, w.stride, w.padding, false,
                                       false, c10::nullopt);
      case StepKind::shift:
        return channels_last(unshifted(gradient, shape));
      case StepKind::scale:
        return gradient * step.factor;
      case StepKind::truncate:
        return channels_last(at::constant_pad_nd(gradient, {0, 0, 0, 0, 0, shape.channels - step.stage.out}));
      case StepKind::global_avg_pool:
        return channels_last((gradient / static_cast<double>(shape.height * shape.width))
                                 .expand({gradient.size(0), shape.channels, shape.height, shape.width}));
      case StepKind::linear:
        return at::mm(gradient, step.weight.detach()).view({-1, shape.channels, shape.height, shape.width});
      case StepKind::function:
        return channels_last(function_backward(step, x, gradient));
      case StepKind::zeros:
      case StepKind::add:
      case StepKind::concat:
        break;  // see propagate()
    }
    return {};
  }

  const Tape& tape_;
  const Trace& trace_;
  Statistics statistics_;
  const WeightVisitor& visit_;
  bool to_image_;
  Visits visits_;
  std::vector<at::Tensor> gradients_;
};

}  // namespace

Trace::Norm running_norm(const Step& step) {
  Trace::Norm norm{.mean = values_of(step.running_mean), .variance = values_of(step.running_var), .rate = {}};
  norm.rate = rates(norm.variance);
  return norm;
}

int64_t Trace::bytes() const {
  int64_t sum = 0;
  for (const auto* tensors : {&values, &indices}) {
    for (const at::Tensor& tensor : *tensors) sum += tensor.defined() ? static_cast<int64_t>(tensor.nbytes()) : 0;
  }
  return sum;
}

Trace forward(const Tape& tape, const at::Tensor& images, Keep keep) {
  at::NoGradGuard no_grad;
  return ForwardPass(tape, images, keep).run();
}

at::Tensor backward(const Tape& tape, const Trace& trace, const at::Tensor& seed, Statistics statistics,
                    const WeightVisitor& visit, bool to_image, Visits visits) {
  at::NoGradGuard no_grad;
  return BackwardPass(tape, trace, statistics, visit, to_image, visits).run(seed);
}

at::Tensor weight_gradient(const Step& step, const at::Tensor& x, const at::Tensor& gradient) {
  at::NoGradGuard no_grad;
  if (step.kind == StepKind::linear) return at::mm(gradient.t(), x.flatten(1));
  return std::get<1>(convolve_backward(step, x, gradient, false));
}

at::Tensor linear_map(const Step& step, const std::vector<at::Tensor>& in, const at::Tensor& weight) {
  const Window w(step.stage);
  switch (step.kind) {
    case StepKind::conv:
      return convolve(step.stage, in[0], weight.detach());
    case StepKind::avg_pool:
      if (keeps_size(step.stage)) return average_windows(in[0], step.stage.kernel_h);
      return channels_last(at::avg_pool2d(in[0], w.kernel, w.stride, w.padding, false, false));
    case StepKind::shift:
      return channels_last(shifted(in[0]));
    case StepKind::truncate:
      return channels_last(in[0].narrow(1, 0, step.stage.out));
    case StepKind::global_avg_pool:
      return at::mean(in[0], {2, 3}, /*keepdim=*/true);
    case StepKind::linear:
      return at::mm(in[0].flatten(1), weight.detach().t());
    case StepKind::concat:
      return concatenated(step, in);
    case StepKind::scale:
      return in[0] * step.factor;
    case StepKind::zeros:
      return zeros(step, in[0]);
    case StepKind::add:
      return summed(in);
    case StepKind::relu:
    case StepKind::batch_norm:
    case StepKind::max_pool:
    case StepKind::function:
      break;
  }
  throw std::logic_error("ReLUs, batch norms, max poolings and functions are no linear maps");
}

at::Tensor derivative_along(const Step& step, const at::Tensor& x, const at::Tensor& t) {
  const at::AutoGradMode enabled(true);
  const at::Tensor point = x.detach().requires_grad_();
  return channels_last(along(Layer(step.stage).forward(point), point, t, false));
}

at::Tensor second_derivative_along(const Step& step, const at::Tensor& x, const at::Tensor& a, const at::Tensor& b) {
  const at::AutoGradMode enabled(true);
  const at::Tensor point = x.detach().requires_grad_();
  return channels_last(along(along(Layer(step.stage).forward(point), point, a, true), point, b, false));
}

at::Tensor cross_entropy_seed(const at::Tensor& logits, const at::Tensor& labels) {
  return logits.softmax(1) - label_seed(logits, labels);
}

at::Tensor label_seed(const at::Tensor& logits, const at::Tensor& labels) {
  return at::zeros_like(logits).scatter_(1, labels.unsqueeze(1), 1.0);
}

}  // namespace nascent
