// The trained models that an analysis is given, and the images that all of them see.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "nascent/analysis/landscape.h"
#include "nascent/data/image_data.h"

namespace nascent {

struct AnalysedModels {
  std::vector<LandscapeModel> models;
  std::vector<std::string> groups;  // width of the first cell: what reports gather pictures by
  std::unique_ptr<ImageData> data;
  std::shared_ptr<Network> first;  // what device and type the images are made for
};

// Reads every model once. An Error where there is none, where images do not fit, or where there are fewer than asked
// for. Images are prepared as the first model was trained to see them; as `nascent eval`, chosen by seed 0.
AnalysedModels open_models(const std::vector<std::string>& paths, DataOptions data, int images);

}  // namespace nascent
