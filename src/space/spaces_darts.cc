// DARTS and the spaces derived from it: S1 and S2 of amended DARTS, the variants of PR-DARTS and NASI, the cells of
// ENAS, NASNet and AmoebaNet, and any other wiring of such cells.
#include <algorithm>

#include "nascent/core/error.h"
#include "nascent/space/cell_space.h"

namespace nascent {

namespace {

const std::vector<std::string> kOps = {"max_pool_3x3", "avg_pool_3x3", "skip_connect", "sep_conv_3x3",
                                       "sep_conv_5x5", "dil_conv_3x3", "dil_conv_5x5"};

std::vector<std::string> with_none(std::vector<std::string> ops) {
  ops.insert(ops.begin(), "none");
  return ops;
}

std::vector<CellChoices> normal_and_reduce(CellChoices cell) {
  std::vector<CellChoices> cells(2, cell);
  cells[0].type = "normal";
  cells[1].type = "reduce";
  return cells;
}

// Each node takes the state before it and c_{k-2}.
CellChoices chain_cell(const std::string& type) {
  CellChoices cell = dense_cell(type, 2, 4, 2);
  for (int i = 0; i < 4; ++i) cell.nodes[i].inputs = {0, i + 1};
  return cell;
}

auto make(SpaceDescription description) { return std::make_shared<const CellSpace>(std::move(description)); }

std::shared_ptr<const Space> darts() {
  return make({.name = "darts",
               .description = "DARTS: normal and reduction cell of 4 nodes, 8 operations",
               .ops = with_none(kOps),
               .search_only = {"none"},
               .cells = normal_and_reduce(dense_cell("", 2, 4, 2))});
}

// PR-DARTS keeps the two best operations of a node, whichever inputs they read (PR-DARTS, section 5.1).
std::shared_ptr<const Space> darts_pr() {
  CellChoices cell = dense_cell("", 2, 4, 2);
  cell.repeat_inputs = true;
  return make({.name = "darts-pr",
               .description = "PR-DARTS's DARTS: both operations of a node may read the same input",
               .ops = with_none(kOps),
               .search_only = {"none"},
               .cells = normal_and_reduce(cell)});
}

std::shared_ptr<const Space> darts_nasi() {
  return make({.name = "darts-nasi",
               .description = "NASI's DARTS: no `none`; a node's inputs are chosen independently of its operations",
               .ops = kOps,
               .cells = normal_and_reduce(dense_cell("", 2, 4, 2))});
}

std::shared_ptr<const Space> darts_s1() {
  return make({.name = "darts-s1",
               .description = "amended DARTS S1: 8 fixed edges a cell, 7 operations",
               .ops = kOps,
               .cells = normal_and_reduce(chain_cell(""))});
}

std::shared_ptr<const Space> darts_s2() {
  SpaceDescription space{
      .name = "darts-s2",
      .description = "amended DARTS S2: 20 cells, each with an architecture of its own, 2 operations",
      .ops = {"skip_connect", "sep_conv_3x3"},
      .own_cells = true,
      .default_cells = 20};
  for (int i = 0; i < space.default_cells; ++i) space.cells.push_back(chain_cell("cell_" + std::to_string(i)));
  return make(std::move(space));
}

std::vector<std::string> nasnet_ops() {
  std::vector<std::string> ops = kOps;
  ops.insert(ops.end(), {"sep_conv_7x7", "conv_7x1_1x7"});
  return ops;
}

std::shared_ptr<const Space> nasnet() {
  CellChoices cell = dense_cell("", 2, 5, 2);
  cell.repeat_inputs = cell.loose_output = true;
  return make({.name = "nasnet",
               .description = "ENAS, NASNet and AmoebaNet cells: 5 nodes, the output is what no node takes",
               .ops = nasnet_ops(),
               .cells = normal_and_reduce(cell)});
}

SpaceDescription any_wiring(std::vector<CellChoices> cells) {
  for (CellChoices& cell : cells) cell.repeat_inputs = true;
  return {.name = "cells",
          .description = "any wiring of the operations of DARTS and NASNet: any number of nodes, any output",
          .ops = nasnet_ops(),
          .cells = std::move(cells)};
}

// Any wiring: a node may take an input twice, the output is any list of nodes, and a node that nothing takes stays
// where it is. A genotype may have any number of nodes; samples, numbers and the supernet are those of cells of four
// nodes that all form the output. Random variants of published cells need it (src/analysis/variants.h).
class AnyWiring : public CellSpace {
 public:
  AnyWiring() : CellSpace(any_wiring(normal_and_reduce(dense_cell("", 2, 4, 2)))) {}

  Genotype mutate(const Genotype& genotype, RandomStream& random) const override {
    return around(genotype).mutate(genotype, random);
  }
  void validate(const Genotype& genotype) const override { around(genotype).validate(genotype); }
  void validate_published(const Genotype& genotype) const override { validate(genotype); }

 private:
  // The wirings of as many nodes and edges as the genotype has, with its output.
  static CellSpace around(const Genotype& genotype) {
    std::vector<CellChoices> cells;
    for (const std::string type : {"normal", "reduce"}) {
      const CellGenotype& cell = genotype.cell(type);
      if (cell.inputs != 2) fail("Cell '{}' has {} input(s), but in space 'cells' it has 2.", type, cell.inputs);
      CellChoices choices{.type = type};
      for (const GenotypeNode& node : cell.nodes) {
        choices.nodes.push_back(
            any_inputs(2 + static_cast<int>(choices.nodes.size()), static_cast<int>(node.edges.size())));
      }
      choices.output = cell.output;
      std::sort(choices.output.begin(), choices.output.end());
      cells.push_back(std::move(choices));
    }
    return CellSpace(any_wiring(std::move(cells)));
  }
};

}  // namespace

NASCENT_REGISTER(Space, "darts", "normal and reduction cell of 4 nodes, 8 operations", darts);
NASCENT_REGISTER(Space, "darts-pr", "DARTS in which both operations of a node may read the same input (PR-DARTS)",
                 darts_pr);
NASCENT_REGISTER(Space, "darts-nasi", "DARTS as searched by NASI: no `none`", darts_nasi);
NASCENT_REGISTER(Space, "darts-s1", "DARTS with 8 fixed edges a cell (amended DARTS S1)", darts_s1);
NASCENT_REGISTER(Space, "darts-s2", "20 cells, each its own architecture of 2 operations (amended DARTS S2)", darts_s2);
NASCENT_REGISTER(Space, "nasnet", "5-node cells of ENAS, NASNet and AmoebaNet", nasnet);
NASCENT_REGISTER(Space, "cells", "any wiring of DARTS's and NASNet's operations, for variants of published cells",
                 [] { return std::make_shared<const AnyWiring>(); });

}  // namespace nascent
