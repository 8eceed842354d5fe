#include "nascent/train/predictions.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <limits>

#include "nascent/core/error.h"
#include "nascent/core/text.h"
#include "nascent/nn/layer.h"
#include "nascent/train/evaluate.h"
#include "nascent/train/state.h"

namespace nascent {

NetworkStateGuard::NetworkStateGuard(Network& network) : network_(network), training_(network.is_training()) {
  for (const at::Tensor& buffer : network.buffers()) {
    if (buffer.defined()) buffers_.emplace_back(buffer, buffer.clone());
  }
}

NetworkStateGuard::~NetworkStateGuard() {
  at::NoGradGuard no_grad;
  for (auto& [buffer, saved] : buffers_) buffer.copy_(saved);
  network_.train(training_);
}

const std::vector<std::string>& norm_statistics_names() {
  static const std::vector<std::string> names = {"batch", "running", "recalibrated"};
  return names;
}

NormStatistics norm_statistics(const std::string& name) {
  const auto& names = norm_statistics_names();
  const auto it = std::find(names.begin(), names.end(), name);
  if (it == names.end()) fail("Batch norms cannot go by '{}'. Known: {}.", name, join(names, ", "));
  return static_cast<NormStatistics>(it - names.begin());
}

void recalibrate_norms(Network& network, Loader& loader, int64_t batches, const ForwardContext& context) {
  at::NoGradGuard no_grad;
  const bool training = network.is_training();
  network.train();
  std::vector<at::Tensor> buffers, sums;
  for (const at::Tensor& buffer : network.buffers()) {
    if (!buffer.defined()) continue;
    buffers.push_back(buffer);
    sums.push_back(at::zeros_like(buffer));
  }
  int64_t done = 0;
  loader.start(0);
  while (done < batches) {
    auto batch = loader.next();
    if (!batch) break;
    // From zero, a step leaves the batch's own statistics times the momentum.
    for (at::Tensor& buffer : buffers) buffer.zero_();
    network.forward(to_tensors(std::move(*batch), network).images, context);
    for (size_t i = 0; i < buffers.size(); ++i) sums[i].add_(buffers[i]);
    ++done;
  }
  if (done == 0) fail("There are no images to gather the statistics of batch norms from.");
  for (size_t i = 0; i < buffers.size(); ++i) {
    buffers[i].copy_(sums[i].div_(kNormMomentum * static_cast<double>(done)));
  }
  network.train(training);
}

namespace {

// The first `most` of the rows.
void append(Predictions& all, const at::Tensor& logits, const at::Tensor& labels, int64_t most) {
  const int64_t rows = std::min(most, logits.size(0));
  const at::Tensor table = logits.slice(0, 0, rows).to(at::kCPU, at::kFloat).softmax(1).contiguous();
  const at::Tensor classes = labels.slice(0, 0, rows).to(at::kCPU).contiguous();
  Probabilities& probabilities = all.probabilities;
  probabilities.images += table.size(0);
  probabilities.classes = table.size(1);
  probabilities.values.insert(probabilities.values.end(), table.data_ptr<float>(),
                              table.data_ptr<float>() + table.numel());
  all.labels.insert(all.labels.end(), classes.data_ptr<int64_t>(), classes.data_ptr<int64_t>() + classes.numel());
}

// A network drops paths in training mode; the modes of its parts are what norms go by.
void drop_in_evaluation(Network& network) {
  std::vector<bool> modes;
  for (const auto& part : network.children()) modes.push_back(part->is_training());
  network.train();
  for (size_t i = 0; i < modes.size(); ++i) network.children()[i]->train(modes[i]);
}

}  // namespace

Predictions predict(Network& network, Loader& loader, const PredictionOptions& options) {
  at::NoGradGuard no_grad;
  const NetworkStateGuard keep(network);
  if (options.norms == NormStatistics::recalibrated) {
    if (options.recalibration == nullptr) fail("Recalibrated batch norms need training images to be recalibrated on.");
    recalibrate_norms(network, *options.recalibration, options.recalibration_batches, options.context);
  }
  network.train(options.norms == NormStatistics::batch);
  if (options.context.drop_path > 0) drop_in_evaluation(network);
  Predictions all;
  ForwardContext context = options.context;
  loader.start(0);
  const int64_t wanted = options.images == 0 ? std::numeric_limits<int64_t>::max() : options.images;
  while (all.probabilities.images < wanted) {
    auto batch = loader.next();
    if (!batch) break;
    const TensorBatch tensors = to_tensors(std::move(*batch), network);
    // The whole of the last batch is computed: its statistics may be what norms go by.
    append(all, network.forward(tensors.images, context).logits, tensors.labels, wanted - all.probabilities.images);
    if (!context.drop_together) ++context.step;
  }
  return all;
}

double top1(const Predictions& predictions) {
  const Probabilities& table = predictions.probabilities;
  int64_t right = 0;
  for (int64_t i = 0; i < table.images; ++i) {
    const auto row = table.row(i);
    right += std::max_element(row.begin(), row.end()) - row.begin() == predictions.labels[static_cast<size_t>(i)];
  }
  return table.images > 0 ? 100.0 * static_cast<double>(right) / static_cast<double>(table.images) : 0;
}

void save_predictions(const Predictions& predictions, const std::filesystem::path& path) {
  const Probabilities& table = predictions.probabilities;
  State state;
  state.put("probabilities",
            at::tensor(at::ArrayRef<float>(table.values), at::kFloat).view({table.images, table.classes}));
  state.put("labels", at::tensor(at::ArrayRef<int64_t>(predictions.labels), at::kLong));
  save_state(state, path);
}

Predictions load_predictions(const std::filesystem::path& path) {
  const State state = load_state(path);
  const at::Tensor table = state.tensor("probabilities").contiguous(), labels = state.tensor("labels").contiguous();
  if (table.dim() != 2 || labels.dim() != 1 || table.size(0) != labels.size(0))
    fail("{} does not hold predictions: a row of probabilities and a label per image were expected.", path.string());
  Predictions result{{table.size(0), table.size(1), {}}, {}};
  result.probabilities.values.assign(table.data_ptr<float>(), table.data_ptr<float>() + table.numel());
  result.labels.assign(labels.data_ptr<int64_t>(), labels.data_ptr<int64_t>() + labels.numel());
  return result;
}

}  // namespace nascent
