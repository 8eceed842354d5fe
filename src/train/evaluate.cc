#include "nascent/train/evaluate.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/topk.h>

#include <algorithm>
#include <memory>

#include "nascent/train/loss.h"

namespace nascent {
namespace {

// Evaluation mode for as long as it lives.
class EvaluationMode {
 public:
  explicit EvaluationMode(Network& network) : network_(network), training_(network.is_training()) { network.eval(); }
  ~EvaluationMode() { network_.train(training_); }
  EvaluationMode(const EvaluationMode&) = delete;
  EvaluationMode& operator=(const EvaluationMode&) = delete;

 private:
  Network& network_;
  bool training_;
};

// The vector's memory, kept alive by the tensor.
template <class T>
at::Tensor adopt(std::vector<T>&& values, at::IntArrayRef shape, at::ScalarType type) {
  auto owned = std::make_shared<std::vector<T>>(std::move(values));
  T* data = owned->data();
  return at::from_blob(
      data, shape, [owned](void*) {}, type);
}

}  // namespace

Json Evaluation::to_json() const { return {{"loss", loss}, {"top1", top1}, {"top5", top5}, {"images", images}}; }

TensorBatch to_tensors(Batch&& batch) {
  const at::Tensor rows =
      adopt(std::move(batch.pixels), {batch.size, batch.height, batch.width, batch.channels}, at::kFloat);
  return {rows.permute({0, 3, 1, 2}), adopt(std::move(batch.labels), {batch.size}, at::kLong)};
}

TensorBatch to_tensors(Batch&& batch, const Network& network) {
  const auto parameters = network.parameters();
  const TensorBatch tensors = to_tensors(std::move(batch));
  if (parameters.empty()) return tensors;
  const at::Device device = parameters.front().device();
  return {tensors.images.to(device), tensors.labels.to(device)};
}

int64_t count_top(const at::Tensor& logits, const at::Tensor& labels, int64_t k) {
  const auto best = std::get<1>(at::topk(logits.detach(), std::min(k, logits.size(1)), 1));
  return best.eq(labels.unsqueeze(1)).sum().item<int64_t>();
}

Evaluation evaluate(Network& network, Loader& loader, const ForwardContext& context) {
  const EvaluationMode mode(network);
  at::NoGradGuard no_grad;
  Evaluation total;
  loader.start(0);
  while (auto batch = loader.next()) {
    const TensorBatch tensors = to_tensors(std::move(*batch), network);
    const at::Tensor logits = network.forward(tensors.images, context).logits;
    const int64_t size = tensors.labels.size(0);
    total.images += size;
    total.loss += classification_loss(logits, tensors.labels).item<double>() * static_cast<double>(size);
    total.top1 += static_cast<double>(count_top(logits, tensors.labels, 1));
    total.top5 += static_cast<double>(count_top(logits, tensors.labels, 5));
  }
  if (total.images == 0) return total;
  const auto n = static_cast<double>(total.images);
  return {total.loss / n, 100 * total.top1 / n, 100 * total.top5 / n, total.images};
}

}  // namespace nascent
