// The data set "random": images of Gaussian noise with random labels, fully determined by the seed.
#include <algorithm>
#include <cmath>

#include "nascent/core/random.h"
#include "nascent/data/memory_dataset.h"
#include "nascent/data/random_labels.h"

namespace nascent {
namespace {

// Middle grey with four deviations to either side of the byte's range.
constexpr double kMostBytes = 4e9;
constexpr double noise_mean = 127.5, noise_deviation = 32;

Shape checked_shape(const std::vector<double>& shape) {
  const bool good = shape.size() == 3 && std::all_of(shape.begin(), shape.end(), [](double side) {
                      return side >= 1 && side <= 4096 && side == std::floor(side);
                    });
  if (!good) {
    fail(
        "data.shape is [{}]; expected channels, height and width, each a whole number from 1 to 4096, such as [3, 32, "
        "32].",
        fmt::join(shape, ", "));
  }
  return {static_cast<int>(shape[0]), static_cast<int>(shape[1]), static_cast<int>(shape[2])};
}

std::vector<std::string> numbered_classes(int classes) {
  std::vector<std::string> names(classes);
  for (int i = 0; i < classes; ++i) names[i] = fmt::format("class {}", i);
  return names;
}

std::shared_ptr<const Dataset> make_random(const DataOptions& options, Part part, uint64_t seed) {
  const Shape shape = checked_shape(options.shape);
  if (options.classes < 2) fail("data.classes is {}; expected at least 2.", options.classes);
  if (options.size < 1) fail("data.size is {}; expected at least 1.", options.size);
  const double bytes = static_cast<double>(options.size) * static_cast<double>(shape.count());
  if (bytes > kMostBytes) {
    fail("{} images of {} take {:.0f} GB of memory; 'random' makes up to {:.0f}. Lower --size or --shape.",
         options.size, shape.text(), bytes / 1e9, kMostBytes / 1e9);
  }
  std::vector<uint8_t> pixels(options.size * shape.count());
  RandomStream random(seed, "random images", {static_cast<uint64_t>(part)});
  for (auto& pixel : pixels) {
    const double value = std::round(noise_mean + noise_deviation * random.normal());
    pixel = static_cast<uint8_t>(std::clamp(value, 0.0, 255.0));
  }
  return std::make_shared<MemoryDataset>(
      MemoryDataset::Contents{"random",
                              shape,
                              std::move(pixels),
                              random_labels(options.size, options.classes, part, seed),
                              numbered_classes(options.classes),
                              {}});
}

}  // namespace

NASCENT_REGISTER(Dataset, "random", "Gaussian noise with random labels; see shape, classes, size", make_random);

}  // namespace nascent
