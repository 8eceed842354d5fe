#include "nascent/analysis/gradient_variance.h"

#include <ATen/ATen.h>

#include "nascent/train/loss.h"
#include "nascent/train/second_order.h"

namespace nascent {
namespace {

// Welford's running mean, and the sum of squared distances from it.
struct Moments {
  at::Tensor mean;
  double deviations = 0;

  void add(const at::Tensor& gradient, int64_t count) {
    const at::Tensor value = gradient.to(at::kDouble);
    if (!mean.defined()) mean = at::zeros_like(value);
    const at::Tensor distance = value - mean;
    mean += distance / static_cast<double>(count);
    deviations += (distance * (value - mean)).sum().item<double>();
  }
};

// "cell0.pre0.1.weight" is of the layer "cell0.pre0.1".
std::string layer_of(const std::string& parameter) { return parameter.substr(0, parameter.rfind('.')); }

}  // namespace

GradientVariance gradient_variance(Network& network, const ImageBatches& batches) {
  const bool training = network.is_training();
  network.eval();
  const auto named = network.named_parameters();
  const Tensors parameters = network.parameters();
  std::vector<Moments> moments(parameters.size());
  int64_t count = 0;
  for (const TensorBatch& batch : batches) {
    for (int64_t i = 0; i < batch.labels.size(0); ++i) {
      const at::Tensor logits = network.forward(batch.images.narrow(0, i, 1)).logits;
      const Tensors found = gradients(classification_loss(logits, batch.labels.narrow(0, i, 1)), parameters);
      ++count;
      for (size_t p = 0; p < parameters.size(); ++p) {
        if (found[p].defined()) moments[p].add(found[p], count);
      }
    }
  }
  network.train(training);
  GradientVariance result;
  for (size_t p = 0; p < parameters.size(); ++p) {
    if (!moments[p].mean.defined()) continue;
    const double variance = moments[p].deviations / static_cast<double>(count);
    result.variance += variance;
    result.mean_square += moments[p].mean.square().sum().item<double>();
    result.layers[layer_of(named[p].key())] += variance;
  }
  return result;
}

std::string layer_csv(const GradientVariance& found) {
  std::string text = "layer,variance\n";
  for (const auto& [layer, variance] : found.layers) text += fmt::format("{},{:.9g}\n", layer, variance);
  return text;
}

}  // namespace nascent
