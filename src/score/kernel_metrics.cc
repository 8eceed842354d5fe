// Metrics of the neural tangent kernel: trace norm, condition number, KNAS's mean.
#include <ATen/ATen.h>

#include <cmath>
#include <limits>

#include "nascent/score/probe.h"

namespace nascent {
namespace {

double trace_of(const at::Tensor& matrix) { return matrix.trace().item<double>(); }

double condition_number(Probe& probe) {
  const auto& eigenvalues = probe.ntk_eigenvalues();
  const double low = eigenvalues.front(), high = eigenvalues.back();
  return low > 0 ? high / low : std::numeric_limits<double>::infinity();
}

// Of the kernel over all logits, one class after another.
double full_trace(Probe& probe) {
  const at::Tensor logits = probe.logits();
  double sum = 0;
  for (int64_t k = 0; k < logits.size(1); ++k) {
    at::Tensor seed = at::zeros_like(logits);
    seed.select(1, k).fill_(1);
    sum += trace_of(probe.gram(seed));
  }
  return sum;
}

NASCENT_REGISTER(Metric, "trace", "sqrt(tr K / m), K the tangent kernel of the true classes' logits (eq. 7.4)",
                 [](Probe& probe) { return std::sqrt(trace_of(probe.ntk()) / static_cast<double>(probe.images())); });
NASCENT_REGISTER(Metric, kConditionNumber, "condition number of the tangent kernel", condition_number,
                 MetricFacts{.lower_is_better = true});
NASCENT_REGISTER(Metric, "knas", "KNAS: mean of the entries of the tangent kernel",
                 [](Probe& probe) { return probe.ntk().mean().item<double>(); });
NASCENT_REGISTER(Metric, "trace-norm", "trace of the tangent kernel over all logits (eq. 6.4)", full_trace);
NASCENT_REGISTER(Metric, "trace-sum", "its bound by the images' own loss gradients (eq. 6.6)", [](Probe& probe) {
  return trace_of(probe.gram(cross_entropy_seed(probe.logits(), probe.batch().labels)));
});

}  // namespace
}  // namespace nascent
