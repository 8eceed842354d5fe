// A cell translated for the engine: which units and mixtures it consists of, and where in the cell its weights are.
// Made from the plan alone, before there are any weights, so that what a step will take can be told from it too.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "nascent/kernels/cell_program.h"
#include "nascent/nn/mixture.h"
#include "nascent/space/plan.h"

namespace nascent {

// A row of the weights that the engine takes: the product of an operation weight, an edge weight and a drop mask, of
// which any may be missing (-1).
struct WeightRow {
  int site = -1, candidate = -1;
  int edge = -1;
  int mask = -1;  // the edge's place in the cell
};

// A stage of the cell: `sequence` counts the plan's lists of stages in the order of Cell::sequences().
struct StageAt {
  int sequence = 0, stage = 0;
};

struct ParameterAt {
  StageAt at;
  bool bias = false;  // or the weight
};

struct LoweredCell {
  std::shared_ptr<kernels::CellProgram> program;
  std::vector<ParameterAt> parameters;
  std::vector<StageAt> norms;
  std::vector<int> plain;  // sequences that have no fused form, by the index in their unit
  std::vector<WeightRow> rows;
};

// What decides how a cell is lowered.
struct LoweringKey {
  std::vector<std::vector<int>> active{};  // candidates per site, as in a CellMixture
  bool weighted_edges = false, masked = false;
  kernels::Precision precision = kernels::Precision::single;
  bool operator==(const LoweringKey&) const = default;
};

// In the precision in use.
LoweringKey lowering_key(const CellMixture* mixture, bool masked);

LoweredCell lower(const CellPlan& cell, const LoweringKey& key);

// The list of stages that a sequence counts.
const Stages& stages_at(const CellPlan& cell, int sequence);

}  // namespace nascent
