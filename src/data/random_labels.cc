#include "nascent/data/random_labels.h"

#include "nascent/core/random.h"

namespace nascent {

std::vector<int64_t> random_labels(int64_t size, int64_t classes, Part part, uint64_t seed) {
  RandomStream random(seed, "random labels", {static_cast<uint64_t>(part)});
  std::vector<int64_t> labels(size);
  for (auto& label : labels) label = random.below(classes);
  return labels;
}

RandomLabels::RandomLabels(std::shared_ptr<const Dataset> images, Part part, uint64_t seed)
    : images_(std::move(images)), labels_(random_labels(images_->size(), images_->classes(), part, seed)) {}

}  // namespace nascent
