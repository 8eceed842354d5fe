#include "nascent/data/dataset.h"

#include "nascent/data/random_labels.h"

namespace nascent {

std::string part_name(Part part) { return part == Part::train ? "train" : "test"; }

std::shared_ptr<const Dataset> load_dataset(const DataOptions& options, Part part, uint64_t seed) {
  auto dataset = Dataset::Registry::instance().make(options.name, options, part, seed);
  if (!options.random_labels) return dataset;
  return std::make_shared<RandomLabels>(std::move(dataset), part, seed);
}

}  // namespace nascent
