// Many cells in one picture, side by side, drawn by graphviz.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "nascent/space/genotype.h"

namespace nascent {

struct TitledCell {
  std::string title;  // "darts-v2  3.5c, 3"
  CellGenotype cell;
};

// The picture's bytes in a format of graphviz: "svg", "png", "pdf". Nothing where graphviz is missing or fails.
std::optional<std::string> draw_cells(const std::vector<TitledCell>& cells, const std::string& format, int columns = 5);

}  // namespace nascent
