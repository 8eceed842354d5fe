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

// The same of what ReLUs read, as it is: the Gram matrix of their inputs in place of the Hamming kernel.
double raw_naswot(Probe& probe) {
  const Tape& tape = probe.tape();
  const Trace trace = forward(tape, probe.batch().images, Keep::everything);
  at::Tensor kernel = at::zeros({probe.images(), probe.images()}, at::kDouble);
  for (size_t i = 0; i < tape.steps().size(); ++i) {
    const Step& step = tape.steps()[i];
    if (step.kind != StepKind::relu) continue;
    const at::Tensor rows = trace.values[step.in[0]].flatten(1);
    kernel.add_(at::mm(rows, rows.t()).to(at::kDouble), tape.copies(i));
  }
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

// The running variance of a batch norm that has seen batches of these variances, as the mean over channels; it starts
// from 1. Undefined norms saw nothing but zeros.
double mean_running_variance(const std::vector<const ChannelValues*>& batches, double numbers) {
  const size_t channels = batches[0] ? batches[0]->size() : 1;
  double sum = 0;
  for (size_t c = 0; c < channels; ++c) {
    double running = 1;
    for (const ChannelValues* variance : batches) {
      const double unbiased = variance ? (*variance)[c] * numbers / std::max(1.0, numbers - 1) : 0;
      running += kNormMomentum * (unbiased - running);
    }
    sum += running;
  }
  return sum / static_cast<double>(channels);
}

int count_norms(const Network& network) {
  int count = 0;
  for (const auto& module : network.modules(/*include_self=*/false)) {
    if (const auto* layer = module->as<Layer>()) count += layer->is_norm() ? 1 : 0;
  }
  return count;
}

// Zen-score: how far the features move when Gaussian images do, in a network of standard normal weights, and the scale
// that its batch norms took away. As published, a norm's scale is its running variance after both batches.
double zen(Probe& probe) {
  const Shape& input = probe.plan().input;
  const auto network = probe.network_of(probe.size(), input, "standard-normal");
  const Tape tape(*network);
  if (!tape.is_connected()) return -std::numeric_limits<double>::infinity();
  constexpr double kStep = 0.01;
  const uint64_t seed = probe.options().seed;
  const at::Tensor images = normal_images(input, probe.images(), seed, "zen images");
  const at::Tensor other = normal_images(input, probe.images(), seed, "zen directions");
  const Trace still = forward(tape, images), moved = forward(tape, images + kStep * other);
  const at::Tensor change = still.values[tape.features()] - moved.values[tape.features()];
  double score = std::log(change.abs().sum({1, 2, 3}, false, at::kDouble).mean().item<double>());
  int silent = count_norms(*network);  // norms that see nothing but zeros are on no tape
  for (size_t i = 0; i < tape.steps().size(); ++i) {
    const Step& step = tape.steps()[i];
    if (step.kind != StepKind::batch_norm) continue;
    const Shape& shape = tape.shape(step.out);
    const auto numbers = static_cast<double>(probe.images() * shape.height * shape.width);
    score += 0.5 * std::log(mean_running_variance({&still.norms[i].variance, &moved.norms[i].variance}, numbers));
    --silent;
  }
  return score + silent * 0.5 * std::log(mean_running_variance({nullptr, nullptr}, 1));
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
NASCENT_REGISTER(Metric, "naswot-thesis", "log determinant of the Gram matrix of what ReLUs read", raw_naswot);
NASCENT_REGISTER(Metric, "jacob-cov", "covariance of the images' Jacobians", jacobian_covariance);
NASCENT_REGISTER(Metric, "synflow", "SynFlow: logarithm of the flow through all weights", synflow);
NASCENT_REGISTER(Metric, "zen", "Zen-score: sensitivity of the features to Gaussian noise, of standard normal weights",
                 zen, MetricFacts{.version = 2});
NASCENT_REGISTER(Metric, "regions", "TE-NAS: number of linear regions that Gaussian images fall into", linear_regions);
NASCENT_REGISTER(Metric, "params", "number of parameters",
                 [](Probe& probe) { return static_cast<double>(count_parameters(probe.plan())); });
NASCENT_REGISTER(Metric, "flops", "multiply-adds per image",
                 [](Probe& probe) { return static_cast<double>(count_multiply_adds(probe.plan())); });

}  // namespace
}  // namespace nascent
