// A cell computed by the engine: the autograd wrapper around src/kernels.
#pragma once

#include <ATen/core/Tensor.h>

#include <mutex>
#include <optional>
#include <vector>

#include "nascent/nn/lowered_cell.h"

namespace nascent {

class Cell;
struct CellContext;

class FusedCell {
 public:
  explicit FusedCell(const Cell& cell) : cell_(cell) {}

  // What Cell::plain_states gives; undefined where the engine in use cannot or must not do it. Second derivatives are
  // taken through the plain twin.
  at::Tensor forward(const std::vector<at::Tensor>& inputs, const CellContext& context);

 private:
  std::shared_ptr<const LoweredCell> lowered(const CellMixture* mixture, bool masked);

  const Cell& cell_;
  std::mutex mutex_;
  // The last translation: it stays the same unless a relaxation samples other candidates.
  std::optional<LoweringKey> key_;
  std::shared_ptr<const LoweredCell> lowered_;
};

}  // namespace nascent
