// A data set whose labels are replaced by random ones, drawn anew for every seed.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "nascent/data/dataset.h"

namespace nascent {

class RandomLabels : public Dataset {
 public:
  RandomLabels(std::shared_ptr<const Dataset> images, Part part, uint64_t seed);

  const std::string& name() const override { return images_->name(); }
  int64_t size() const override { return images_->size(); }
  int64_t label(int64_t index) const override { return labels_.at(index); }
  void read(int64_t index, Image& image) const override { images_->read(index, image); }
  Shape shape() const override { return images_->shape(); }
  const std::vector<std::string>& class_names() const override { return images_->class_names(); }
  std::vector<std::string> default_transforms(Part part) const override { return images_->default_transforms(part); }
  uint32_t checksum() const override { return images_->checksum(); }
  std::vector<std::string> notes() const override { return images_->notes(); }
  bool reads_files() const override { return images_->reads_files(); }

 private:
  std::shared_ptr<const Dataset> images_;
  std::vector<int64_t> labels_;
};

// One label below `classes` for each of `size` images.
std::vector<int64_t> random_labels(int64_t size, int64_t classes, Part part, uint64_t seed);

}  // namespace nascent
