// Metrics of the gradient of the loss: grad norm, SNIP, GraSP and Fisher, in the form of the zero-cost literature and
// its published tables and, where it differs, in that of Shu's thesis (eqs. 7.2 and 7.3) or of the metric's own paper.
#include <ATen/ATen.h>

#include <cmath>
#include <functional>

#include "nascent/score/curvature.h"
#include "nascent/score/probe.h"

namespace nascent {
namespace {

double sum_of(const at::Tensor& x) { return x.sum(at::kDouble).item<double>(); }

// Adds up `term` over the weights that have a gradient.
double over_weights(Probe& probe,
                    const std::function<double(const at::Tensor& weight, const at::Tensor& gradient)>& term) {
  at::NoGradGuard no_grad;
  const auto& gradients = probe.loss_gradients().weights;
  double sum = 0;
  for (size_t i = 0; i < gradients.size(); ++i) {
    if (gradients[i].defined()) sum += term(probe.tape().steps()[i].weight, gradients[i]);
  }
  return sum;
}

double squared_norm(Probe& probe) {
  return over_weights(probe, [](const at::Tensor&, const at::Tensor& g) { return sum_of(g.square()); });
}

double sample_grasp(Probe& probe) {
  const Tape& tape = probe.tape();
  std::vector<at::Tensor> gradients(tape.steps().size());
  backward(tape, probe.trace(), cross_entropy_seed(probe.logits(), probe.batch().labels), Statistics::constant,
           [&](size_t step, const at::Tensor& gradient) { gradients[step] = gradient; });
  return std::abs(sample_curvature(tape, probe.trace(), probe.batch().labels, gradients));
}

NASCENT_REGISTER(Metric, "grad", "gradient of the loss: sum over layers of its norm", [](Probe& probe) {
  return over_weights(probe, [](const at::Tensor&, const at::Tensor& g) { return std::sqrt(sum_of(g.square())); });
});
NASCENT_REGISTER(Metric, "grad-thesis", "norm of the whole gradient (eq. 7.2)",
                 [](Probe& probe) { return std::sqrt(squared_norm(probe)); });
NASCENT_REGISTER(Metric, "snip", "SNIP: sum of |w g|", [](Probe& probe) {
  return over_weights(probe, [](const at::Tensor& w, const at::Tensor& g) { return sum_of((w * g).abs()); });
});
NASCENT_REGISTER(Metric, "snip-thesis", "|sum of w g| (eq. 7.3)", [](Probe& probe) {
  return std::abs(over_weights(probe, [](const at::Tensor& w, const at::Tensor& g) { return sum_of(w * g); }));
});
NASCENT_REGISTER(Metric, "grasp", "GraSP: -w' H g, H and g of the whole batch's loss", [](Probe& probe) {
  const auto& gradients = probe.loss_gradients().weights;
  return -gradient_curvature(probe.tape(), probe.trace(), probe.batch().labels, gradients);
});
NASCENT_REGISTER(Metric, "grasp-thesis", "|mean of w' H_i g_i| over the images' own losses (eq. 7.3)", sample_grasp);
NASCENT_REGISTER(
    Metric, "fisher", "Fisher information: every weight counts with that of its channel",
    [](Probe& probe) { return probe.loss_gradients().fisher_of_weights; }, MetricFacts{.version = 2});
NASCENT_REGISTER(Metric, "fisher-channels", "Fisher information: every channel counts once, as in its paper",
                 [](Probe& probe) { return probe.loss_gradients().fisher_of_channels; });
NASCENT_REGISTER(Metric, "trace-batch", "trace norm of the tangent kernel by the batch's gradient (eq. 6.7)",
                 [](Probe& probe) { return squared_norm(probe) * static_cast<double>(probe.images()); });

}  // namespace
}  // namespace nascent
