// The candidates of one edge or node, weighted by a mixture where there are several.
#pragma once

#include <torch/nn/module.h>

#include <memory>
#include <string>
#include <vector>

#include "nn/mixture.h"
#include "nn/stage_sequence.h"
#include "nn/weighted_sum.h"

namespace nascent {

class MixedOperation : public torch::nn::Module {
 public:
  // `site` and `edge` are rows of the mixture, -1 where there is none. Candidates are named by `ops`, "fixed" for "".
  MixedOperation(const std::vector<std::string>& ops, const std::vector<Stages>& candidates, int site, int edge = -1);

  // Adds to `sum` the weighted results of the candidates that run. `mask`, where defined, multiplies every result but
  // that of the identity. `mixture` may be null where site and edge are -1.
  void add_to(WeightedSum& sum, SharedInput& x, const CellMixture* mixture, const at::Tensor& mask) const;

  // True where at least one candidate is neither the identity nor zero.
  bool can_drop() const;

 private:
  std::vector<int> running(const CellMixture* mixture) const;
  at::Tensor weights(const CellMixture& mixture, const std::vector<int>& running) const;

  std::vector<std::shared_ptr<StageSequence>> candidates_;
  int site_, edge_;
};

}  // namespace nascent
