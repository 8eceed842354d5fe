// Pixels in [0, 1], as exported networks take them, and what the model itself makes of them.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>

#include "nascent/data/loader.h"
#include "nascent/train/model.h"

namespace nascent {

// The model's data with everything of its transforms but the normalisation.
DataOptions pixel_options(const Model& model, const DataOptions& asked);

// Some images of the data's test part (for a check) and of its training part (for calibration); 0: all.
std::unique_ptr<Loader> test_pixels(const Model& model, const DataOptions& asked, int images);
std::unique_ptr<Loader> training_pixels(const Model& model, const DataOptions& asked, int images);

// Made-up images, where there is no data: the same ones each time.
at::Tensor random_pixels(const Shape& shape, int images);

// The network's own logits, in evaluation mode.
at::Tensor logits_of(const Model& model, const at::Tensor& pixels);

}  // namespace nascent
