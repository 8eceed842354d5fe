// Metrics that look at activations, at the input, at paths, or at sizes alone.
#include <ATen/ATen.h>

#include <cmath>
#include <limits>

#include "nascent/nn/network.h"
#include "nascent/score/linear_regions.h"
#include "nascent/score/probe.h"

namespace nascent {
namespace {

// The logarithm of the determinant of the Hamming kernel: how many units agree on each pair of images.
double naswot(Probe& probe) {
  const int64_t images = probe.images();
  at::Tensor kernel = at::full({images, images}, static_cast<double>(probe.tape().idle_units()), at::kDouble);
  for_each_pattern(probe.tape(), probe.trace(), [&](const at::Tensor& pattern, int copies) {
    const at::Tensor bits = pattern.to(at::kFloat), on = bits.sum(1, false, at::kDouble);
    const at::Tensor both = at::mm(bits, bits.t()).to(at::kDouble);
    const auto units = static_cast<double>(bits.size(1));
    kernel.add_(2 * both - on.unsqueeze(0) - on.unsqueeze(1) + units, copies);
  });
  double sum = 0;
  for (const double eigenvalue : symmetric_eigenvalues(kernel)) sum += std::log(std::abs(eigenvalue));
  return sum;
}

// How differently the summed logits react to the images: of the correlation matrix of their gradients by the image.
double jacobian_covariance(Probe& probe) {
  const at::Tensor gradient = backward(
      probe.tape(), probe.trace(), at::ones_like(probe.logits()), Statistics::coupled, [](size_t, const at::Tensor&) {},
      /*to_image=*/true);
  if (!gradient.defined()) return -std::numeric_limits<double>::infinity();
  const at::Tensor rows = gradient.flatten(1).to(at::kDouble);
  const at::Tensor centred = rows - rows.mean(1, /*keepdim=*/true);
  const at::Tensor covariance = at::mm(centred, centred.t());
  const at::Tensor deviation = covariance.diagonal().sqrt();
  constexpr double kSmall = 1e-5;
  double sum = 0;
  for (const double v : symmetric_eigenvalues(covariance / at::outer(deviation, deviation))) {
    sum -= std::log(v + kSmall) + 1 / (v + kSmall);
  }
  return sum;
}

// The sum over weights of |w dR/dw|, R the sum of the logits of an image of ones in the network of absolute weights.
double synflow(Probe& probe) {
  const Tape tape = probe.tape().absolute();
  if (!tape.is_connected()) return -std::numeric_limits<double>::infinity();
  const Shape& input = probe.plan().input;
  const Trace trace = forward(tape, at::ones({1, input.channels, input.height, input.width}, at::kDouble));
  double sum = 0;
  const auto add = [&](size_t i, const at::Tensor& gradient) {
    const Step& step = tape.steps()[i];
    sum += (step.weight * weight_gradient(step, trace.values[step.in[0]], gradient)).sum().item<double>();
  };
  backward(tape, trace, at::ones_like(trace.values[tape.logits()]), Statistics::constant, add);
  return std::log(sum);
}

// Zen-score: how far the features move when Gaussian images do, and the scale that batch norms took away.
double zen(Probe& probe) {
  const Tape& tape = probe.tape();
  if (!tape.is_connected()) return -std::numeric_limits<double>::infinity();
  constexpr double kStep = 0.01;
  const uint64_t seed = probe.options().seed;
  const at::Tensor images = normal_images(probe.plan().input, probe.images(), seed, "zen images");
  const at::Tensor other = normal_images(probe.plan().input, probe.images(), seed, "zen directions");
  const Trace trace = forward(tape, images);
  const at::Tensor moved = forward(tape, images + kStep * other).values[tape.features()];
  const at::Tensor distance = (trace.values[tape.features()] - moved).abs().sum({1, 2, 3}, false, at::kDouble).mean();
  double score = std::log(distance.item<double>());
  for (size_t i = 0; i < tape.steps().size(); ++i) {
    if (tape.steps()[i].kind != StepKind::batch_norm || !tape.steps()[i].live) continue;
    const ChannelValues& variances = trace.norms[i].variance;
    double sum = 0;
    for (const double variance : variances) sum += variance;
    score += 0.5 * std::log(sum / static_cast<double>(variances.size()) + kNormEpsilon);
  }
  return score;
}

// TE-NAS: in how many ways the ReLUs of the thinnest network divide many tiny Gaussian images.
double linear_regions(Probe& probe) {
  constexpr int64_t kImages = 1000;
  NetworkOptions size;
  // The cells of NAS-Bench-101 divide their channels among the nodes that they concatenate.
  size.channels = probe.plan().skeleton == "nasbench101" ? 8 : 1;
  size.skeleton = probe.plan().skeleton;
  if (!probe.space().own_cells()) size.cells = Skeleton::Registry::instance().at(size.skeleton).facts.fewest_cells;
  const Shape shape{probe.plan().input.channels, kRegionSide, kRegionSide};
  return count_linear_regions(Tape(*probe.network_of(size, shape)),
                              normal_images(shape, kImages, probe.options().seed, "region images"));
}

NASCENT_REGISTER(Metric, "naswot", "NASWOT: log determinant of the Hamming kernel of ReLU patterns", naswot);
NASCENT_REGISTER(Metric, "jacob-cov", "covariance of the images' Jacobians", jacobian_covariance);
NASCENT_REGISTER(Metric, "synflow", "SynFlow: logarithm of the flow through all weights", synflow);
NASCENT_REGISTER(Metric, "zen", "Zen-score: sensitivity of the features to Gaussian noise", zen);
NASCENT_REGISTER(Metric, "regions", "TE-NAS: number of linear regions that Gaussian images fall into", linear_regions);
NASCENT_REGISTER(Metric, "params", "number of parameters",
                 [](Probe& probe) { return static_cast<double>(count_parameters(probe.plan())); });
NASCENT_REGISTER(Metric, "flops", "multiply-adds per image",
                 [](Probe& probe) { return static_cast<double>(count_multiply_adds(probe.plan())); });

}  // namespace
}  // namespace nascent
