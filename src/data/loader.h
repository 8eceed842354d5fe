// Batches of transformed images, prepared ahead by worker threads. What a batch holds depends only on (seed, purpose,
// epoch, batch number): not on the number of workers, nor on where in the epoch a resumed run starts.
//
//   Loader loader(dataset, indices, transforms, {.batch = 64, .shuffle = true, .seed = 1});
//   loader.start(epoch);
//   while (auto batch = loader.next()) ...
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "nascent/data/dataset.h"
#include "nascent/data/transform_pipeline.h"

namespace nascent {

struct Batch {
  int64_t number = 0;  // within the epoch
  int size = 0, channels = 0, height = 0, width = 0;
  std::vector<float> pixels;  // NHWC
  std::vector<int64_t> labels;
  std::vector<int64_t> indices;  // in the data set

  std::string describe() const;  // "batch 12: images 5, 812, ...", for messages about a bad one
};

struct LoaderOptions {
  int batch = 64;
  bool shuffle = false;
  bool drop_last = false;  // leave out a last batch that is not full
  uint64_t seed = 0;
  std::string purpose = "train";  // separates the random streams of loaders that share a seed
  int workers = 1;
  int ahead = 4;  // batches prepared in advance
};

class Loader {
 public:
  // An Error if there is nothing to load or the transforms leave images of different sizes.
  Loader(std::shared_ptr<const Dataset> dataset, std::vector<int64_t> indices, TransformPipeline transforms,
         LoaderOptions options);
  Loader(Loader&&) noexcept;
  Loader& operator=(Loader&&) noexcept;
  ~Loader();

  int64_t batches() const;  // per epoch
  int64_t size() const;     // images per epoch, those of a batch left out by drop_last not counted
  Shape shape() const;      // of a transformed image

  // Of every batch, cut into `parts` of the same size, only parts `first` to before `last` are read: what size, pixels
  // and labels of a batch tell of from the next start() on. Its number and indices are those of the whole.
  void read_only(int64_t first, int64_t last, int64_t parts);

  // Begins an epoch at any of its batches; one that is under way is given up.
  void start(int64_t epoch, int64_t first_batch = 0);
  // Nothing at the end of the epoch. An Error from reading an image is thrown here, in the place of its batch, and ends
  // the epoch.
  std::optional<Batch> next();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace nascent
