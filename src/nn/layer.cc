#include "nascent/nn/layer.h"

#include <ATen/ATen.h>

#include "nascent/core/error.h"

namespace nascent {

const LayerRule::Registry::Entry& layer_rule(StageKind kind) {
  const std::string& name = name_of(kind);
  const auto& registry = LayerRule::Registry::instance();
  if (!registry.contains(name)) {
    fail("The stage '{}' has no LibTorch layer: register a LayerRule of that name beside its StageRule.", name);
  }
  return registry.at(name);
}

Layer::Layer(const Stage& stage) : stage_(stage), rule_(&layer_rule(stage.kind)) {
  const LayerFacts& facts = rule_->facts;
  if (facts.weight) {
    const auto sizes = facts.weight(stage);
    if (!sizes.empty()) weight_ = register_parameter("weight", at::empty(sizes));
  }
  if (facts.bias && facts.bias(stage)) bias_ = register_parameter("bias", at::empty({stage.out}));
  if (!facts.norm) return;
  running_mean_ = register_buffer("running_mean", at::zeros({stage.in}));
  running_var_ = register_buffer("running_var", at::ones({stage.in}));
}

bool Layer::is_stateless() const { return !weight_.defined() && !running_mean_.defined(); }

bool Layer::is_norm() const { return rule_->facts.norm; }

at::Tensor Layer::forward(const at::Tensor& x) const { return rule_->make(*this, x); }

}  // namespace nascent
