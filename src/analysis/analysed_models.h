// The trained models that an analysis is given, and the images that all of them see.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "nascent/analysis/landscape.h"
#include "nascent/analysis/topology.h"
#include "nascent/data/image_data.h"

namespace nascent {

// How many test images are looked at. Fewer than were asked for are an Error; of the usual number there may be fewer.
struct ImageCount {
  int wanted = 0;  // 0: all
  int usual = 0;   // what is wanted where nobody asked
  std::string flag = "--images";
};

struct AnalysedModels {
  std::vector<LandscapeModel> models;
  std::vector<Topology> topology;  // of each model's first cell
  std::unique_ptr<ImageData> data;
  std::string data_name;
  std::shared_ptr<Network> first;  // what device and type the images are made for

  // "3.5c, 3": what reports gather pictures by.
  std::string group(size_t model) const { return topology_title(topology[model]); }
  // Models from wide to narrow, of equal width from shallow to deep: the order of the report.
  std::vector<size_t> by_width() const;
  ImageBatches test_images() const { return load_batches(*data->testing(), *first); }
  // Name, topology and digest of a model, as results have them.
  Json describe(size_t model) const;
  // What a caption says of a grid: "of darts (3.5c, 3) on 1000 test images of cifar10; norms running, directions 1
  // ...".
  std::string facts(size_t model, int64_t images, const std::string& norms, int pair, const LandscapeOptions& grid,
                    int64_t seed) const;
  // Of the models' bytes and of the images.
  std::string digest() const;
  std::string digest_of(size_t model) const;  // of one model's bytes
  // Training images for norms that are recalibrated; none where they are not.
  ImageBatches calibration(bool wanted, int images) const;
};

// "recalibrated on 512 training images"; others by their name.
std::string norms_text(const std::string& norms, const ImageBatches& calibration);

// Reads every model once. An Error where there is none, where images do not fit, or where there are fewer than asked
// for. The images are those of `nascent eval`: of the data that the first model was trained on, unless `data` names
// other, and prepared as for that model.
AnalysedModels open_models(const std::vector<std::string>& paths, const DataOptions& data, const ImageCount& images);

// Where the data has no name, puts that of the first model in its place, so that what is kept with a run can be resumed
// from.
void settle_data(const std::vector<std::string>& paths, DataOptions& data);

}  // namespace nascent
