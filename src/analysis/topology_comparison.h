// The cells of several genotypes side by side: width and depth of each, and where they stand among all wirings.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "nascent/analysis/topology.h"

namespace nascent {

struct ComparedCell {
  std::string genotype{};  // as it was named
  CellTopology cell{};
  CellGenotype wiring{};
  Json to_json() const;
};

// Every cell type of every genotype: a name, a file or a run folder. `repeat` says whether the wirings to compare with
// may take an input twice; without it, whether the space allows that.
std::vector<ComparedCell> compare_topologies(const std::vector<std::string>& genotypes,
                                             std::optional<bool> repeat = std::nullopt);

// "genotype,cell,width,depth,least_width,..." by line.
std::string comparison_csv(const std::vector<ComparedCell>& cells);
// Inputs left, nodes, output right, titled "darts-v2 normal: 3.5c, 3"; the file's ending says the format, and the
// table stands beside it.
void draw_comparison(const std::vector<ComparedCell>& cells, const std::filesystem::path& file);

}  // namespace nascent
