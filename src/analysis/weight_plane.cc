#include "nascent/analysis/weight_plane.h"

#include <ATen/ATen.h>

#include "nascent/core/error.h"
#include "nascent/core/random.h"
#include "nascent/nn/layer.h"
#include "nascent/train/loss.h"

namespace nascent {
namespace {

at::Tensor normal_like(const at::Tensor& tensor, uint64_t seed, const std::string& name, int number) {
  RandomStream random(seed, "direction of " + name, {static_cast<uint64_t>(number)});
  at::Tensor drawn = at::empty(tensor.sizes(), at::kFloat);
  float* numbers = drawn.data_ptr<float>();
  for (int64_t i = 0; i < drawn.numel(); ++i) numbers[i] = static_cast<float>(random.normal());
  return drawn.to(tensor.options().requires_grad(false));
}

at::Tensor with_filter_norms(const at::Tensor& direction, const at::Tensor& weight) {
  const at::Tensor rows = direction.reshape({direction.size(0), -1});
  const at::Tensor wanted = weight.detach().reshape({weight.size(0), -1}).norm(2, {1}, true);
  return (rows * (wanted / (rows.norm(2, {1}, true) + 1e-10))).reshape(direction.sizes());
}

// Training mode for as long as it lives, and the running statistics as they were afterwards.
class BatchStatistics {
 public:
  explicit BatchStatistics(Network& network) : network_(network), training_(network.is_training()) {
    for (const auto& buffer : network.named_buffers()) {
      buffers_.emplace_back(buffer.value(), buffer.value().clone());
    }
    network.train(true);
  }
  ~BatchStatistics() {
    at::NoGradGuard no_grad;
    for (auto& [own, saved] : buffers_) own.copy_(saved);
    network_.train(training_);
  }
  BatchStatistics(const BatchStatistics&) = delete;
  BatchStatistics& operator=(const BatchStatistics&) = delete;

 private:
  Network& network_;
  bool training_;
  std::vector<std::pair<at::Tensor, at::Tensor>> buffers_;
};

Evaluation sum_over(Network& network, const ImageBatches& batches) {
  at::NoGradGuard no_grad;
  Evaluation total;
  for (const TensorBatch& batch : batches) {
    const at::Tensor logits = network.forward(batch.images).logits;
    const int64_t size = batch.labels.size(0);
    total.images += size;
    total.loss += classification_loss(logits, batch.labels).item<double>() * static_cast<double>(size);
    total.top1 += static_cast<double>(count_top(logits, batch.labels, 1));
    total.top5 += static_cast<double>(count_top(logits, batch.labels, 5));
  }
  const auto n = static_cast<double>(total.images);
  return {total.loss / n, 100 * total.top1 / n, 100 * total.top5 / n, total.images};
}

}  // namespace

Direction random_direction(const Network& network, uint64_t seed, int number, bool filters) {
  at::NoGradGuard no_grad;
  Direction direction;
  for (const auto& item : network.named_parameters()) {
    const at::Tensor& weight = item.value();
    const bool fixed = filters && weight.dim() <= 1;
    at::Tensor part = fixed ? at::zeros_like(weight.detach()) : normal_like(weight, seed, item.key(), number);
    direction.push_back(filters && !fixed ? with_filter_norms(part, weight) : part);
  }
  return direction;
}

WeightPlane::WeightPlane(Network& network) : own_(weights_of(network)), start_(copy_of(own_)), parameters_(0) {
  const auto parameters = network.named_parameters();
  parameters_ = parameters.size();
  for (size_t i = 0; i < parameters_; ++i) {
    if (own_[i].first != parameters[i].key()) fail("The weights of the network are not in the expected order.");
  }
}

WeightPlane::~WeightPlane() { restore(); }

void WeightPlane::restore() {
  at::NoGradGuard no_grad;
  assign(start_, own_);
}

void WeightPlane::move(const std::vector<const Direction*>& directions, const std::vector<double>& steps) {
  at::NoGradGuard no_grad;
  assign(start_, own_);
  for (size_t d = 0; d < directions.size(); ++d) {
    if (steps[d] == 0) continue;
    for (size_t i = 0; i < parameters_; ++i) {
      at::Tensor weight = own_[i].second;
      weight.add_((*directions[d])[i], steps[d]);
    }
  }
}

ImageBatches load_batches(Loader& loader, const Network& network, int64_t most) {
  ImageBatches batches;
  int64_t images = 0;
  loader.start(0);
  while (auto batch = loader.next()) {
    if (most > 0 && images >= most) break;
    TensorBatch tensors = to_tensors(std::move(*batch), network);
    const int64_t left = most > 0 ? most - images : tensors.labels.size(0);
    if (tensors.labels.size(0) > left) {
      tensors = {tensors.images.narrow(0, 0, left), tensors.labels.narrow(0, 0, left)};
    }
    images += tensors.labels.size(0);
    batches.push_back(std::move(tensors));
  }
  return batches;
}

int64_t count_images(const ImageBatches& batches) {
  int64_t images = 0;
  for (const TensorBatch& batch : batches) images += batch.labels.size(0);
  return images;
}

Norms norms_named(const std::string& name) {
  if (name == "running") return Norms::running;
  if (name == "recalibrated") return Norms::recalibrated;
  if (name == "batch") return Norms::batch;
  fail("The norms' statistics are 'running', 'recalibrated' or 'batch', not '{}'.", name);
}

void recalibrate(Network& network, const ImageBatches& batches) {
  at::NoGradGuard no_grad;
  std::vector<std::pair<at::Tensor, at::Tensor>> sums;
  for (const auto& buffer : network.named_buffers()) {
    sums.emplace_back(buffer.value(), at::zeros_like(buffer.value(), buffer.value().options().dtype(at::kDouble)));
  }
  {
    const BatchStatistics statistics(network);
    for (const TensorBatch& batch : batches) {
      // From zero, a batch leaves its own statistics times the momentum.
      for (auto& [own, sum] : sums) own.zero_();
      network.forward(batch.images);
      for (auto& [own, sum] : sums) sum.add_(own.to(at::kDouble), static_cast<double>(batch.labels.size(0)));
    }
  }
  const double scale = 1 / (kNormMomentum * static_cast<double>(count_images(batches)));
  for (auto& [own, sum] : sums) own.copy_(sum * scale);
}

Evaluation evaluate_batches(Network& network, const ImageBatches& batches, Norms norms,
                            const ImageBatches& calibration) {
  if (norms == Norms::batch) {
    const BatchStatistics statistics(network);
    return sum_over(network, batches);
  }
  if (norms == Norms::recalibrated) recalibrate(network, calibration.empty() ? batches : calibration);
  const bool training = network.is_training();
  network.eval();
  const Evaluation result = sum_over(network, batches);
  network.train(training);
  return result;
}

}  // namespace nascent
