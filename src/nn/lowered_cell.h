// A cell translated for the engine: which units and mixtures it consists of, and where their weights are.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <string>
#include <vector>

#include "nascent/kernels/cell_program.h"
#include "nascent/nn/layer.h"
#include "nascent/nn/mixture.h"
#include "nascent/nn/stage_sequence.h"

namespace nascent {

class Cell;

// A row of the weights that the engine takes: the product of an operation weight, an edge weight and a drop mask, of
// which any may be missing (-1).
struct WeightRow {
  int site = -1, candidate = -1;
  int edge = -1;
  int mask = -1;  // the edge's place in the cell
};

struct LoweredCell {
  std::shared_ptr<kernels::CellProgram> program;
  std::vector<at::Tensor> parameters;
  std::vector<const Layer*> norms;
  std::vector<const StageSequence*> plain;  // what has no fused form, by the index in its unit
  std::vector<WeightRow> rows;
};

// What decides how a cell is lowered.
struct LoweringKey {
  std::vector<std::vector<int>> active{};
  bool weighted_edges = false, masked = false;
  bool operator==(const LoweringKey&) const = default;
};

LoweringKey lowering_key(const CellMixture* mixture, bool masked);

// `cell` must outlive the result.
LoweredCell lower(const Cell& cell, const CellMixture* mixture, bool masked);

}  // namespace nascent
