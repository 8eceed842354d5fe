// DARTS and the spaces derived from it: S1 and S2 of amended DARTS, NASI's variant, and the cells of ENAS, NASNet and
// AmoebaNet.
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
               .none_in_genotypes = false,
               .cells = normal_and_reduce(dense_cell("", 2, 4, 2))});
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

std::shared_ptr<const Space> nasnet() {
  CellChoices cell = dense_cell("", 2, 5, 2);
  cell.repeat_inputs = cell.loose_output = true;
  SpaceDescription space{.name = "nasnet",
                         .description = "ENAS, NASNet and AmoebaNet cells: 5 nodes, the output is what no node takes",
                         .ops = kOps,
                         .cells = normal_and_reduce(cell)};
  space.ops.insert(space.ops.end(), {"sep_conv_7x7", "conv_7x1_1x7"});
  return make(std::move(space));
}

}  // namespace

NASCENT_REGISTER(Space, "darts", "normal and reduction cell of 4 nodes, 8 operations", darts);
NASCENT_REGISTER(Space, "darts-nasi", "DARTS as searched by NASI: no `none`", darts_nasi);
NASCENT_REGISTER(Space, "darts-s1", "DARTS with 8 fixed edges a cell (amended DARTS S1)", darts_s1);
NASCENT_REGISTER(Space, "darts-s2", "20 cells, each its own architecture of 2 operations (amended DARTS S2)", darts_s2);
NASCENT_REGISTER(Space, "nasnet", "5-node cells of ENAS, NASNet and AmoebaNet", nasnet);

}  // namespace nascent
