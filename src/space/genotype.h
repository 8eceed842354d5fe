// A discrete architecture: for each type of cell, the graph of its nodes. Nothing here knows LibTorch.
#pragma once

#include <compare>
#include <string>
#include <vector>

namespace nascent {

// States of a cell are numbered: its inputs first (0, 1, ...), then its nodes.
struct GenotypeEdge {
  int from = 0;
  std::string op = "skip_connect";
  auto operator<=>(const GenotypeEdge&) const = default;
};

struct GenotypeNode {
  std::vector<GenotypeEdge> edges{};
  std::string op{};  // applied to the sum of the edges (NAS-Bench-101, 1Shot1); "" where operations stand on edges
  auto operator<=>(const GenotypeNode&) const = default;
};

struct CellGenotype {
  std::string type{};  // "normal", "reduce", "cell", "cell_7", ...
  int inputs = 2;
  std::vector<GenotypeNode> nodes{};
  // States that form the cell's output, concatenated (one state: taken as it is). In NAS-Bench-101 state 0, the input,
  // is not concatenated but projected and added.
  std::vector<int> output{};
  auto operator<=>(const CellGenotype&) const = default;
};

struct Genotype {
  std::string space{};  // the name of the space it belongs to
  std::vector<CellGenotype> cells{};

  const CellGenotype& cell(const std::string& type) const;  // an Error if there is none
  auto operator<=>(const Genotype&) const = default;
};

// Text forms, read and written: "json" (ours, any space), "darts" (Genotype(normal=[('sep_conv_3x3', 0), ...], ...)),
// "nasbench201" (|op~0|+|op~0|op~1|+...), "nasbench101" (matrix and ops as JSON). An Error points at the place.
std::string to_text(const Genotype& genotype, const std::string& form);
// `form` "" recognises the form. `space`, where given, is what forms that do not name their space belong to.
Genotype parse_genotype(const std::string& text, const std::string& form = "", const std::string& space = "");
// The forms that can express this genotype, "json" first.
std::vector<std::string> text_forms(const Genotype& genotype);

// A shipped genotype by name ("darts-v2", "enas", ...), an architecture by its index in a space ("nasbench201:1234",
// the order of Space::enumerate), a path to a file with text in any form, or such text. `space` as in parse_genotype().
Genotype find_genotype(const std::string& name_text_or_path, const std::string& space = "");
std::vector<std::string> known_genotypes();

// The cell as a few aligned lines for a terminal.
std::string describe(const Genotype& genotype);

// Depth counts edges on the longest input-to-output path, the concat edge included; width sums over nodes the fraction
// of a node's inputs that are cell inputs, in units of the channel count c ("Understanding architectures learnt by
// cell-based NAS", 3.2). Nodes from which no path leads to the output do not count.
int cell_depth(const CellGenotype& cell);
double cell_width(const CellGenotype& cell);

}  // namespace nascent
