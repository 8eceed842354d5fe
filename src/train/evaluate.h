// Scores of a network on the images of a loader.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "nascent/core/options.h"
#include "nascent/data/loader.h"
#include "nascent/nn/network.h"

namespace nascent {

struct Evaluation {
  double loss = 0, top1 = 0, top5 = 0;  // means over the images; accuracies in percent
  int64_t images = 0;
  Json to_json() const;
};

// Scores a network in evaluation mode, over the loader's epoch 0; the mode it was in comes back.
Evaluation evaluate(Network& network, Loader& loader, const ForwardContext& context = {});

// A batch as tensors: images channels-last, labels as int64.
struct TensorBatch {
  at::Tensor images, labels;
};
TensorBatch to_tensors(Batch&& batch);
// On the device that the network's parameters are on.
TensorBatch to_tensors(Batch&& batch, const Network& network);

// How many labels are among the `k` largest logits of their row; with fewer than `k` classes, all are.
int64_t count_top(const at::Tensor& logits, const at::Tensor& labels, int64_t k);

}  // namespace nascent
