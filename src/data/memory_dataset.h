// A data set of images of one size, held in memory.
#pragma once

#include <string>
#include <vector>

#include "nascent/data/dataset.h"

namespace nascent {

class MemoryDataset : public Dataset {
 public:
  struct Contents {
    std::string name;
    Shape shape;
    std::vector<uint8_t> pixels;  // image after image, each as Image holds it
    std::vector<int64_t> labels;
    std::vector<std::string> class_names;
    std::vector<std::string> train_transforms;  // usual in training; in evaluation there are none
  };

  explicit MemoryDataset(Contents contents);

  const std::string& name() const override { return contents_.name; }
  int64_t size() const override { return static_cast<int64_t>(contents_.labels.size()); }
  int64_t label(int64_t index) const override { return contents_.labels.at(index); }
  void read(int64_t index, Image& image) const override;
  Shape shape() const override { return contents_.shape; }
  const std::vector<std::string>& class_names() const override { return contents_.class_names; }
  std::vector<std::string> default_transforms(Part part) const override;
  uint32_t checksum() const override;

 private:
  Contents contents_;
};

}  // namespace nascent
