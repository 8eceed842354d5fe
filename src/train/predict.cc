#include "nascent/train/predict.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/topk.h>

#include <algorithm>
#include <numeric>

#include "nascent/core/error.h"
#include "nascent/data/loader.h"
#include "nascent/train/evaluate.h"

namespace nascent {

void PredictOptions::declare(OptionTable& table) {
  auto section = table.section("predict", "How pictures are labelled.");
  section.add("top", top, "classes that are told of each picture, the likeliest first").range(1, 1000000);
  section.add("batch", batch, "pictures that are labelled at once").range(1, 65536);
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

void predict(const Model& model, const std::shared_ptr<const Dataset>& pictures, const PredictOptions& options,
             const std::function<void(const Prediction&)>& each) {
  std::vector<int64_t> all(pictures->size());
  std::iota(all.begin(), all.end(), 0);
  Loader loader(pictures, all, TransformPipeline(picture_transforms(model), model.statistics, pictures->shape()),
                {.batch = options.batch, .purpose = "prediction", .workers = options.workers});
  at::NoGradGuard no_grad;
  model.network->eval();
  loader.start(0);
  while (auto batch = loader.next()) {
    const std::vector<int64_t> indices = batch->indices;
    const at::Tensor logits = model.network->forward(to_tensors(std::move(*batch), *model.network).images).logits;
    const auto count = std::min<int64_t>(options.top, logits.size(1));
    const auto [probabilities, classes] = at::topk(at::softmax(logits.cpu(), 1), count, 1);
    const auto rows = probabilities.accessor<float, 2>();
    const auto columns = classes.accessor<int64_t, 2>();
    for (size_t i = 0; i < indices.size(); ++i) {
      Prediction prediction{indices[i], {}};
      for (int64_t k = 0; k < count; ++k) prediction.top.emplace_back(static_cast<int>(columns[i][k]), rows[i][k]);
      each(prediction);
    }
  }
}

}  // namespace nascent
