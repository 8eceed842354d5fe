#include "nascent/attack/objective.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

namespace nascent {
namespace {

constexpr double kLeastScale = 1e-12;
constexpr int64_t kPortion = 128;  // images that go through the victim at once

at::Tensor pick(const at::Tensor& logits, const at::Tensor& classes) {
  return logits.gather(1, classes.unsqueeze(1)).squeeze(1);
}

at::Tensor best_other(const at::Tensor& logits, const at::Tensor& classes) {
  return logits.scatter(1, classes.unsqueeze(1), -INFINITY).amax(1);
}

}  // namespace

Victim::Loss cross_entropy(const Attacked& attacked) {
  const bool towards = attacked.aims.defined();
  return [towards, classes = towards ? attacked.aims : attacked.labels](const at::Tensor& logits) {
    const at::Tensor likelihood = pick(at::log_softmax(logits, 1), classes);
    return towards ? likelihood : -likelihood;
  };
}

Victim::Loss margin(const Attacked& attacked) {
  const bool towards = attacked.targeted;
  return [towards, classes = towards ? attacked.aims : attacked.labels](const at::Tensor& logits) {
    const at::Tensor lead = pick(logits, classes) - best_other(logits, classes);
    return towards ? lead : -lead;
  };
}

Victim::Loss logits_ratio(const Attacked& attacked) {
  return [labels = attacked.labels, aims = attacked.aims](const at::Tensor& logits) {
    const at::Tensor best = std::get<0>(logits.topk(aims.defined() ? 4 : 3, 1));
    if (!aims.defined()) {
      const at::Tensor scale = best.select(1, 0) - best.select(1, 2) + kLeastScale;
      return (best_other(logits, labels) - pick(logits, labels)) / scale;
    }
    const at::Tensor scale = best.select(1, 0) - (best.select(1, 2) + best.select(1, 3)) / 2 + kLeastScale;
    return (pick(logits, aims) - pick(logits, labels)) / scale;
  };
}

at::Tensor best_other_classes(const at::Tensor& logits, const at::Tensor& labels, int64_t count) {
  const at::Tensor others = logits.scatter(1, labels.unsqueeze(1), -INFINITY);
  return std::get<1>(others.topk(std::min(count, logits.size(1) - 1), 1));
}

ClassDifferences class_differences(const Victim& victim, const at::Tensor& images, const at::Tensor& labels,
                                   const at::Tensor& classes) {
  const int64_t count = classes.size(1), total = images.size(0) * count;
  const at::Tensor image_of = at::arange(total, at::kLong).div(count, "floor");
  const at::Tensor flat = classes.reshape({-1});
  std::vector<at::Tensor> values, gradients;
  for (int64_t first = 0; first < total; first += kPortion) {
    const int64_t size = std::min(kPortion, total - first);
    const at::Tensor rows = image_of.narrow(0, first, size);
    const at::Tensor to = flat.narrow(0, first, size), from = labels.index_select(0, rows);
    const auto found = victim.gradient(images.index_select(0, rows),
                                       [&](const at::Tensor& logits) { return pick(logits, to) - pick(logits, from); });
    values.push_back(found.loss);
    gradients.push_back(found.images);
  }
  std::vector<int64_t> shape = images.sizes().vec();
  shape.insert(shape.begin() + 1, count);
  return {at::cat(values).view({-1, count}), at::cat(gradients).reshape(shape)};
}

}  // namespace nascent
