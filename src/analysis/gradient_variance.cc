#include "nascent/analysis/gradient_variance.h"

#include <ATen/ATen.h>

#include "nascent/score/gradient_moments.h"

namespace nascent {

GradientVariance gradient_variance(Network& network, const ImageBatches& batches) {
  const bool training = network.is_training();
  network.eval();
  const Tape tape(network);
  GradientMoments moments(tape, network);
  for (const TensorBatch& batch : batches) moments.add(batch.images, batch.labels);
  network.train(training);
  GradientVariance result;
  result.variance = moments.total().variance;
  for (const auto& [parameter, mean] : moments.mean()) result.mean_square += mean.square().sum().item<double>();
  for (const auto& [layer, own] : moments.layers()) result.layers[layer] = own.variance;
  return result;
}

std::string layer_csv(const GradientVariance& found) {
  std::string text = "layer,variance\n";
  for (const auto& [layer, variance] : found.layers) text += fmt::format("{},{:.9g}\n", layer, variance);
  return text;
}

}  // namespace nascent
