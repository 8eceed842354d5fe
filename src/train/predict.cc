#include "nascent/train/predict.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/softmax.h>

#include <algorithm>
#include <numeric>

#include "nascent/core/error.h"
#include "nascent/train/evaluate.h"

namespace nascent {

void PredictOptions::declare(OptionTable& table) {
  auto section = table.section("predict", "How pictures are labelled.");
  section.add("top", top, "number of most likely classes to print per picture").range(1, 1000000);
  section.add("batch", batch, "pictures per batch").range(1, 65536);
  section.add("workers", workers, "threads that read pictures").range(1, 256);
}

std::vector<std::string> picture_transforms(const Model& model) {
  std::vector<std::string> transforms = model.eval_transforms;
  const Shape& input = model.input;
  if (TransformPipeline(transforms, model.statistics, {input.channels, 0, 0}).output() == input) return transforms;
  std::vector<std::string> fitted = {fmt::format("resize {} {}", input.height, input.width)};
  if (input.height == input.width) {
    fitted = {fmt::format("resize {}", input.height), fmt::format("center-crop {}", input.height)};
  }
  transforms.insert(transforms.begin(), fitted.begin(), fitted.end());
  const Shape found = TransformPipeline(transforms, model.statistics, {input.channels, 0, 0}).output();
  if (found == input) return transforms;
  fail("The model's transforms [{}] make images of {} from its own size; the network takes {}.", join(transforms, ", "),
       found.text(), input.text());
}

std::unique_ptr<Loader> picture_loader(const Model& model, const std::shared_ptr<const Dataset>& pictures,
                                       const PredictOptions& options) {
  std::vector<int64_t> all(pictures->size());
  std::iota(all.begin(), all.end(), 0);
  return std::make_unique<Loader>(
      pictures, std::move(all), TransformPipeline(picture_transforms(model), model.statistics, pictures->shape()),
      LoaderOptions{.batch = options.batch, .purpose = "prediction", .workers = options.workers});
}

Prediction likeliest(int64_t picture, std::span<const float> probabilities, int top) {
  std::vector<int> classes(probabilities.size());
  std::iota(classes.begin(), classes.end(), 0);
  const auto count = std::min<size_t>(top, classes.size());
  const auto before = [&](int a, int b) {
    return probabilities[a] != probabilities[b] ? probabilities[a] > probabilities[b] : a < b;
  };
  std::partial_sort(classes.begin(), classes.begin() + static_cast<ptrdiff_t>(count), classes.end(), before);
  Prediction prediction{picture, {}};
  for (size_t k = 0; k < count; ++k) prediction.top.emplace_back(classes[k], probabilities[classes[k]]);
  return prediction;
}

void predict(const Model& model, const std::shared_ptr<const Dataset>& pictures, const PredictOptions& options,
             const std::function<void(const Prediction&)>& each) {
  const auto loader = picture_loader(model, pictures, options);
  at::NoGradGuard no_grad;
  model.network->eval();
  loader->start(0);
  while (auto batch = loader->next()) {
    const std::vector<int64_t> indices = batch->indices;
    const at::Tensor logits = model.network->forward(to_tensors(std::move(*batch), *model.network).images).logits;
    const at::Tensor probabilities = at::softmax(logits.cpu(), 1).contiguous();
    const auto classes = static_cast<size_t>(probabilities.size(1));
    const float* row = probabilities.data_ptr<float>();
    for (const int64_t picture : indices) {
      each(likeliest(picture, {row, classes}, options.top));
      row += classes;
    }
  }
}

}  // namespace nascent
