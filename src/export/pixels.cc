#include "nascent/export/pixels.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "nascent/core/random.h"
#include "nascent/data/normalisation.h"
#include "nascent/data/transform.h"
#include "nascent/train/model_data.h"

namespace nascent {

DataOptions pixel_options(const Model& model, const DataOptions& asked) {
  DataOptions options = data_of(model, asked);
  std::erase_if(options.eval_transforms,
                [](const std::string& text) { return TransformSpec::parse(text).name == "normalise"; });
  options.eval_transforms.push_back("normalise 0 1");
  options.train_transforms = options.eval_transforms;
  return options;
}

std::unique_ptr<Loader> test_pixels(const Model& model, const DataOptions& asked, int images) {
  DataOptions options = pixel_options(model, asked);
  // Fewer where fewer were asked for.
  if (images > 0) options.limit_test = asked.limit_test > 0 ? std::min<int>(asked.limit_test, images) : images;
  const ImageData data(options, model.data_seed, model.statistics);
  check_fits(model, data);
  return data.testing();
}

std::unique_ptr<Loader> training_pixels(const Model& model, const DataOptions& asked, int images) {
  DataOptions options = pixel_options(model, asked);
  options.limit = images;
  const ImageData data(options, model.data_seed, model.statistics);
  check_fits(model, data);
  return data.evaluation(data.all());
}

at::Tensor random_pixels(const Shape& shape, int images) {
  at::Tensor pixels = at::empty({images, shape.channels, shape.height, shape.width});
  RandomStream random(0, "made-up pixels");
  float* out = pixels.data_ptr<float>();
  for (int64_t i = 0; i < pixels.numel(); ++i) out[i] = static_cast<float>(random.uniform());
  return pixels;
}

at::Tensor logits_of(const Model& model, const at::Tensor& pixels) {
  at::NoGradGuard no_grad;
  const int channels = model.input.channels;
  const auto [mean, deviation] = normalisation_of(model.eval_transforms, model.statistics, channels);
  const auto row = [&](const std::vector<double>& values) {
    return at::tensor(values, at::kDouble).to(at::kFloat).view({1, channels, 1, 1});
  };
  model.network->eval();
  return model.network->forward((pixels - row(mean)) / row(deviation)).logits;
}

}  // namespace nascent
