// A list of stages as a LibTorch module: an operation, a stem, a preprocessing step or a head.
#pragma once

#include <torch/nn/module.h>

#include <memory>
#include <utility>
#include <vector>

#include "nascent/nn/layer.h"
#include "nascent/space/stage.h"

namespace nascent {

// A tensor that several sequences read. What their first layers compute from it alone (ReLU, pools) is computed once.
class SharedInput {
 public:
  explicit SharedInput(at::Tensor value) : value_(std::move(value)) {}
  const at::Tensor& value() const { return value_; }
  const at::Tensor& through(const Layer& layer);

  // The first `channels` channels and the others, each an input that is shared in its turn.
  struct Parts;
  Parts& split(int64_t channels);

 private:
  at::Tensor value_;
  std::vector<std::pair<Stage, at::Tensor>> computed_;
  std::shared_ptr<Parts> parts_;
};

struct SharedInput::Parts {
  SharedInput first, rest;
};

class StageSequence : public torch::nn::Module {
 public:
  // Layers are named by their place in the list: "0", "1", ...
  explicit StageSequence(const Stages& stages);

  at::Tensor forward(const at::Tensor& x) const;
  at::Tensor forward(SharedInput& x) const;

  const std::vector<std::shared_ptr<Layer>>& layers() const { return layers_; }
  bool is_identity() const { return layers_.empty(); }

 private:
  std::vector<std::shared_ptr<Layer>> layers_;
};

}  // namespace nascent
