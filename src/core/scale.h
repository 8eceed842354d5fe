// --scale: a recipe made smaller, in one consistent way, so that days become minutes.
//
//   --scale 0.1                                              a tenth of everything
//   --scale epochs=0.1,channels=0.5,cells=0.5,data=0.2       each by its own factor; those left out stay
//
// What is scaled, and how far down at most:
//   epochs    every option named `epochs` or ending in `-epochs` (warm-up, frozen and stage epochs shrink with the
//             search); at least 1 epoch. Temperatures and learning rates follow the progress of the search by
//             themselves.
//   channels  network.channels, to a multiple of network.partial; at least 4
//   cells     network.cells; at least 3 where a skeleton puts its reductions between them, 1 a stage elsewhere; not
//             where each cell of the space has an architecture of its own
//   data      data.limit (of all training images where it is 0); at least one batch for each part of the split
// Options typed on the command line stay as typed.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "nascent/core/options.h"

namespace nascent {

struct Scale {
  double epochs = 1, channels = 1, cells = 1, data = 1;

  static Scale parse(const std::string& text);
};

// What the factors meet at the lower end.
struct ScaleLimits {
  int fewest_channels = 4;
  int fewest_cells = 1;
  bool fixed_cells = false;
  int64_t fewest_images = 1;
  std::function<int64_t()> all_images{};  // asked only where it matters: data may have to be read
};

// Scales the options of `table` but for the keys in `typed`, and says what became of each.
void apply_scale(const Scale& scale, const ScaleLimits& limits, const std::vector<std::string>& typed,
                 OptionTable& table);

}  // namespace nascent
