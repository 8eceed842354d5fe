// A data set made ready for training: its parts, split, statistics and loaders, from one set of options.
//
//   ImageData data(options, seed);
//   auto train = data.training(data.split().train, "train");
//   auto test = data.testing();
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "nascent/data/dataset.h"
#include "nascent/data/loader.h"
#include "nascent/data/split.h"
#include "nascent/data/statistics.h"

namespace nascent {

class ImageData {
 public:
  // `statistics`, where given, are those that images are normalised with (a model's own) instead of the training
  // part's.
  ImageData(const DataOptions& options, uint64_t seed,
            const std::optional<ChannelStatistics>& statistics = std::nullopt);

  Shape shape() const { return shape_; }  // of an image as the network sees it
  int classes() const { return static_cast<int>(train_->classes()); }
  const std::vector<std::string>& class_names() const { return train_->class_names(); }
  const ChannelStatistics& statistics() const { return statistics_; }
  const std::vector<std::string>& train_transforms() const { return train_transforms_; }
  const std::vector<std::string>& eval_transforms() const { return eval_transforms_; }

  const Dataset& train() const { return *train_; }  // as it is stored, before any split or limit
  const Dataset& test() const { return *test_; }
  // Changes when images, labels, classes, split or transforms do.
  uint32_t digest() const;

  const Split& split() const { return split_; }
  std::vector<int64_t> all() const;  // both sides of the split
  int64_t test_size() const { return static_cast<int64_t>(test_indices_.size()); }

  // Shuffled, augmented, full batches only. `purpose` separates the random streams of loaders over the same data.
  std::unique_ptr<Loader> training(std::vector<int64_t> indices, const std::string& purpose) const;
  // In order, as they are.
  std::unique_ptr<Loader> evaluation(std::vector<int64_t> indices) const;
  std::unique_ptr<Loader> testing() const;

  // "fashion-mnist: 30000 training, 30000 validation and 10000 test images, 10 classes"
  std::string describe() const;

 private:
  std::unique_ptr<Loader> evaluation(const std::shared_ptr<const Dataset>& dataset, std::vector<int64_t> indices) const;

  DataOptions options_;
  uint64_t seed_;
  std::shared_ptr<const Dataset> train_, test_;
  Split split_;
  std::vector<int64_t> test_indices_;
  ChannelStatistics statistics_;
  std::vector<std::string> train_transforms_, eval_transforms_;
  Shape shape_;
};

}  // namespace nascent
