// Labelled images, by name. A data set hands out raw pixels; transforms and the loader make batches of them.
//
//   auto train = load_dataset(options, Part::train, seed);
//   Image image;
//   train->read(0, image);
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "nascent/core/registry.h"
#include "nascent/data/data_options.h"
#include "nascent/data/image.h"

namespace nascent {

enum class Part { train, test };

std::string part_name(Part part);

class Dataset {
 public:
  static std::string kind() { return "data set"; }
  using Registry = nascent::Registry<Dataset, std::shared_ptr<const Dataset>(const DataOptions&, Part, uint64_t seed)>;

  virtual ~Dataset() = default;

  virtual const std::string& name() const = 0;
  virtual int64_t size() const = 0;
  virtual int64_t label(int64_t index) const = 0;
  // Reads image `index`, reusing the memory of `image`; safe to call from several threads.
  virtual void read(int64_t index, Image& image) const = 0;
  // Of every image; height and width are 0 where they vary.
  virtual Shape shape() const = 0;
  virtual const std::vector<std::string>& class_names() const = 0;
  // The transforms usually applied in training and in evaluation, as DataOptions spells them.
  virtual std::vector<std::string> default_transforms(Part part) const = 0;
  // Changes when the images do; labels do not enter.
  virtual uint32_t checksum() const = 0;
  // What people should know before they train on it, a sentence each: what was left out, what was chosen for them.
  virtual std::vector<std::string> notes() const { return {}; }
  // Whether every image is a file of its own, any of which may be damaged.
  virtual bool reads_files() const { return false; }

  int channels() const { return shape().channels; }
  int height() const { return shape().height; }
  int width() const { return shape().width; }
  int64_t classes() const { return static_cast<int64_t>(class_names().size()); }
};

// The data set that the options name, with random labels if they ask for them.
std::shared_ptr<const Dataset> load_dataset(const DataOptions& options, Part part, uint64_t seed);

}  // namespace nascent
