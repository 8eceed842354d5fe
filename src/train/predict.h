// Labels pictures with a trained model.
//
//   predict(model, pictures, {.top = 5}, [](const Prediction& prediction) { ... });
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "nascent/data/dataset.h"
#include "nascent/data/loader.h"
#include "nascent/train/model.h"

namespace nascent {

struct PredictOptions {
  int top = 5;
  int batch = 128;
  int workers = 1;  // threads that read pictures
  void declare(OptionTable& table);
};

struct Prediction {
  int64_t picture = 0;                      // its index in the data set
  std::vector<std::pair<int, double>> top;  // classes and their probabilities, the likeliest first
};

// The model's own evaluation transforms, led by a resize and crop to its images' size where they would leave pictures
// of other sizes as they are.
std::vector<std::string> picture_transforms(const Model& model);

// The pictures in order, as the model wants them.
std::unique_ptr<Loader> picture_loader(const Model& model, const std::shared_ptr<const Dataset>& pictures,
                                       const PredictOptions& options);

// The `top` likeliest of the classes; of equal ones the first.
Prediction likeliest(int64_t picture, std::span<const float> probabilities, int top);

// Every picture in order; `each` is called as soon as its batch is done.
void predict(const Model& model, const std::shared_ptr<const Dataset>& pictures, const PredictOptions& options,
             const std::function<void(const Prediction&)>& each);

}  // namespace nascent
