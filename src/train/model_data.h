// A model and its data: what is kept of the data, how it is found again, and whether other data fits.
//
//   remember_data(model, data, options, seed);                       // before save_model
//   const ImageData data(data_of(model, asked), model.data_seed, model.statistics);
//   check_fits(model, data);
#pragma once

#include <string>
#include <vector>

#include "nascent/data/image_data.h"
#include "nascent/train/model.h"

namespace nascent {

// Fills in everything that the model keeps of the data it was trained on.
void remember_data(Model& model, const ImageData& data, const DataOptions& options, uint64_t seed);

// Options for scoring the model: where `asked` names no data set, the model's own; transforms are the model's unless
// others are asked for, and those of training play no part. An Error where neither names a data set.
DataOptions data_of(const Model& model, DataOptions asked);

// An Error unless images and classes are those that the model was trained for. Classes that have no name but their
// number fit any.
void check_fits(const Model& model, const ImageData& data);
void check_classes(const Model& model, const std::vector<std::string>& found);

// "fashion-mnist", "image-folder at /home/me/pictures".
std::string data_text(const DataOptions& data);

}  // namespace nascent
