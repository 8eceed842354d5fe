#include "nascent/score/curvature.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <functional>

#include "nascent/score/sample_gradients.h"

namespace nascent {

namespace {

// Derivatives of a value: by a (the gradient's direction), by b (the weights' own), and by both. Undefined: zero.
struct Tangent {
  at::Tensor a, b, ab;
  // Set after a convolution whose input does not depend on b: then b is the value itself, which a following batch norm
  // undoes. In that case `ab` holds the mixed derivative less `a`, which is what the norm needs.
  bool scales = false;
};

at::Tensor plus(const at::Tensor& x, const at::Tensor& y) {
  if (!x.defined()) return y;
  return y.defined() ? x + y : x;
}

// A batch norm undoes the scale of its input but for its epsilon. Where no channel's variance is smaller than this,
// what is left is below 1e-4 of the value, and dropped.
constexpr double kClearVariance = 1e4 * kNormEpsilon;

class CurvaturePass {
 public:
  // `moved(step, x)` is the step applied to x with the direction a in place of its weight; undefined: zero.
  using MovedStep = std::function<at::Tensor(size_t step, const at::Tensor& x)>;

  CurvaturePass(const Tape& tape, const Trace& trace, Statistics statistics, MovedStep moved)
      : tape_(tape),
        trace_(trace),
        statistics_(tape.evaluates() ? Statistics::constant : statistics),
        moved_(std::move(moved)),
        tangents_(tape.values()) {}

  // The sum over images of the second derivative of their cross-entropies by a and b.
  double run(const at::Tensor& labels) {
    if (!tape_.is_connected()) return 0;
    for (size_t i = 0; i < tape_.steps().size(); ++i) {
      const Step& step = tape_.steps()[i];
      if (!step.live) continue;
      tangents_[step.out] = step.weight.defined()               ? weigh(i, step)
                            : step.kind == StepKind::batch_norm ? normalise(i, step)
                                                                : map(i, step);
      for (const int x : step.in) {
        if (x >= 0 && tape_.last_use(x) == static_cast<int>(i)) tangents_[x] = {};
      }
    }
    return loss(labels);
  }

 private:
  const at::Tensor& value(int index) const { return trace_.values[index]; }

  // The tangent without the short cut.
  Tangent full(int index) const {
    Tangent t = tangents_[index];
    if (!t.scales) return t;
    return {t.a, value(index), plus(t.ab, t.a), false};
  }

  at::Tensor weighted(const Step& step, const at::Tensor& x) const {
    return x.defined() ? linear_map(step, {x}, step.weight) : at::Tensor();
  }

  Tangent weigh(size_t i, const Step& step) {
    const Tangent x = full(step.in[0]);
    const at::Tensor own = value(step.in[0]);
    const at::Tensor wa = weighted(step, x.a), ua = moved_(i, own), wab = weighted(step, x.ab);
    Tangent y;
    y.a = plus(wa, ua);
    // A bias is not among the weights that b scales.
    const bool is_product = step.kind == StepKind::conv && !step.bias.defined();
    if (!x.b.defined() && is_product) {
      y.scales = true;
      y.ab = ua.defined() ? plus(wab, -ua) : wab;
      return y;
    }
    y.b = plus(weighted(step, x.b), is_product ? value(step.out) : weighted(step, own));
    y.ab = plus(plus(wab, wa), x.b.defined() ? moved_(i, x.b) : at::Tensor());
    return y;
  }

  // First derivative of a norm along `t`: rate * (t - mean) + rate' * (x - mean).
  at::Tensor derive(const Step& step, const at::Tensor& x, const Trace::Norm& norm, const at::Tensor& t) const {
    if (!t.defined()) return t;
    const size_t channels = norm.rate.size();
    const ChannelValues scale = scale_of(step, channels);
    ChannelValues of_t(channels), of_x(channels), constant(channels);
    if (statistics_ == Statistics::constant) {
      for (size_t c = 0; c < channels; ++c) of_t[c] = scale[c] * norm.rate[c];
      return combine_channels({{t, of_t}}, constant);
    }
    const ChannelValues mean = channel_means(t), dot = channel_means(x, t);
    for (size_t c = 0; c < channels; ++c) {
      const double rate = norm.rate[c], covariance = dot[c] - norm.mean[c] * mean[c];
      of_t[c] = scale[c] * rate;
      of_x[c] = -scale[c] * rate * rate * rate * covariance;
      constant[c] = -of_t[c] * mean[c] - of_x[c] * norm.mean[c];
    }
    return combine_channels({{t, of_t}, {x, of_x}}, constant);
  }

  static ChannelValues scale_of(const Step& step, size_t channels) {
    ChannelValues scale(channels, 1.0);
    if (!step.scale.defined()) return scale;
    const at::Tensor values = step.scale.detach().to(at::kDouble);
    std::copy_n(values.data_ptr<double>(), channels, scale.begin());
    return scale;
  }

  Tangent normalise(size_t i, const Step& step) {
    const Trace::Norm& norm = trace_.norms[i];
    const at::Tensor& x = value(step.in[0]);
    const Tangent& raw = tangents_[step.in[0]];
    if (raw.scales && statistics_ == Statistics::coupled &&
        *std::min_element(norm.variance.begin(), norm.variance.end()) >= kClearVariance) {
      return {derive(step, x, norm, raw.a), {}, derive(step, x, norm, raw.ab)};
    }
    const Tangent t = full(step.in[0]);
    Tangent y{derive(step, x, norm, t.a), derive(step, x, norm, t.b), derive(step, x, norm, t.ab)};
    if (statistics_ == Statistics::coupled && t.a.defined() && t.b.defined()) {
      y.ab = plus(y.ab, second_derivative(step, x, norm, t.a, t.b));
    }
    return y;
  }

  // The part of the mixed derivative that is bilinear in the two tangents.
  at::Tensor second_derivative(const Step& step, const at::Tensor& x, const Trace::Norm& norm, const at::Tensor& a,
                               const at::Tensor& b) const {
    const size_t channels = norm.rate.size();
    const ChannelValues scale = scale_of(step, channels), mean_a = channel_means(a), mean_b = channel_means(b),
                        dot_a = channel_means(x, a), dot_b = channel_means(x, b), dot = channel_means(a, b);
    ChannelValues of_a(channels), of_b(channels), of_x(channels), constant(channels);
    for (size_t c = 0; c < channels; ++c) {
      const double rate = norm.rate[c], cube = rate * rate * rate;
      const double ca = dot_a[c] - norm.mean[c] * mean_a[c], cb = dot_b[c] - norm.mean[c] * mean_b[c],
                   cab = dot[c] - mean_a[c] * mean_b[c];
      of_a[c] = -scale[c] * cube * cb;
      of_b[c] = -scale[c] * cube * ca;
      of_x[c] = scale[c] * (3 * cube * rate * rate * ca * cb - cube * cab);
      constant[c] = -of_a[c] * mean_a[c] - of_b[c] * mean_b[c] - of_x[c] * norm.mean[c];
    }
    return combine_channels({{a, of_a}, {b, of_b}, {x, of_x}}, constant);
  }

  // A function of each image by itself.
  Tangent through_function(const Step& step) const {
    const at::Tensor& x = value(step.in[0]);
    const Tangent t = full(step.in[0]);
    const auto part = [&](const at::Tensor& of) { return of.defined() ? derivative_along(step, x, of) : of; };
    Tangent y{part(t.a), part(t.b), part(t.ab)};
    if (t.a.defined() && t.b.defined()) y.ab = plus(y.ab, second_derivative_along(step, x, t.a, t.b));
    return y;
  }

  // Steps that are linear around the values they have.
  Tangent map(size_t i, const Step& step) {
    if (step.kind == StepKind::function) return through_function(step);
    std::vector<Tangent> in;
    for (const int x : step.in) in.push_back(x < 0 ? Tangent() : full(x));
    const auto part = [&](at::Tensor Tangent::*which) {
      std::vector<at::Tensor> tensors;
      for (const Tangent& t : in) tensors.push_back(t.*which);
      const bool any = std::any_of(tensors.begin(), tensors.end(), [](const auto& t) { return t.defined(); });
      return any ? map(i, step, tensors) : at::Tensor();
    };
    return {part(&Tangent::a), part(&Tangent::b), part(&Tangent::ab)};
  }

  at::Tensor map(size_t i, const Step& step, const std::vector<at::Tensor>& in) const {
    if (step.kind == StepKind::relu) return at::threshold_backward(in[0], value(step.out), 0);
    if (step.kind != StepKind::max_pool) return linear_map(step, in, {});
    const at::Tensor& indices = trace_.indices[i];
    return channels_last(in[0].flatten(2).gather(2, indices.flatten(2)).view(indices.sizes()));
  }

  double loss(const at::Tensor& labels) const {
    const at::Tensor logits = value(tape_.logits());
    const Tangent z = full(tape_.logits());
    double sum = 0;
    if (z.ab.defined()) sum += (cross_entropy_seed(logits, labels) * z.ab).to(at::kDouble).sum().item<double>();
    if (z.a.defined() && z.b.defined()) {
      const at::Tensor p = logits.to(at::kDouble).softmax(1), a = z.a.to(at::kDouble), b = z.b.to(at::kDouble);
      sum += ((p * a * b).sum(1) - (p * a).sum(1) * (p * b).sum(1)).sum().item<double>();
    }
    return sum;
  }

  const Tape& tape_;
  const Trace& trace_;
  Statistics statistics_;
  MovedStep moved_;
  std::vector<Tangent> tangents_;
};

}  // namespace

double gradient_curvature(const Tape& tape, const Trace& trace, const at::Tensor& labels,
                          const std::vector<at::Tensor>& directions) {
  at::NoGradGuard no_grad;
  const auto moved = [&](size_t step, const at::Tensor& x) {
    return directions[step].defined() ? linear_map(tape.steps()[step], {x}, directions[step]) : at::Tensor();
  };
  return CurvaturePass(tape, trace, Statistics::coupled, moved).run(labels) / static_cast<double>(labels.size(0));
}

double sample_curvature(const Tape& tape, const Trace& trace, const at::Tensor& labels,
                        const std::vector<at::Tensor>& gradients) {
  at::NoGradGuard no_grad;
  const auto moved = [&](size_t i, const at::Tensor& x) {
    const Step& step = tape.steps()[i];
    return gradients[i].defined() ? apply_sample_gradients(step, trace.values[step.in[0]], gradients[i], x)
                                  : at::Tensor();
  };
  return CurvaturePass(tape, trace, Statistics::constant, moved).run(labels) / static_cast<double>(labels.size(0));
}

}  // namespace nascent
