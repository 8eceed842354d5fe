#include "nascent/nn/stage_sequence.h"

#include <string>

namespace nascent {

const at::Tensor& SharedInput::through(const Layer& layer) {
  for (const auto& [stage, result] : computed_) {
    if (stage == layer.stage()) return result;
  }
  return computed_.emplace_back(layer.stage(), layer.forward(value_)).second;
}

SharedInput::Parts& SharedInput::split(int64_t channels) {
  if (parts_ && parts_->first.value().size(1) == channels) return *parts_;
  // Layers read these slices again and again, so they are stored densely.
  const auto slice = [&](int64_t from, int64_t count) {
    return SharedInput(value_.narrow(1, from, count).contiguous(value_.suggest_memory_format()));
  };
  parts_ = std::make_shared<Parts>(Parts{slice(0, channels), slice(channels, value_.size(1) - channels)});
  return *parts_;
}

StageSequence::StageSequence(const Stages& stages) {
  for (const Stage& stage : stages) {
    layers_.push_back(register_module(std::to_string(layers_.size()), std::make_shared<Layer>(stage)));
  }
}

at::Tensor StageSequence::forward(const at::Tensor& x) const {
  at::Tensor result = x;
  for (const auto& layer : layers_) result = layer->forward(result);
  return result;
}

at::Tensor StageSequence::forward(SharedInput& x) const {
  if (layers_.empty() || !layers_.front()->is_stateless()) return forward(x.value());
  at::Tensor result = x.through(*layers_.front());
  for (size_t i = 1; i < layers_.size(); ++i) result = layers_[i]->forward(result);
  return result;
}

}  // namespace nascent
