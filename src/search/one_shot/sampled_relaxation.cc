// Samples of a categorical distribution per site: one candidate at a time, straight through (GDAS), or softly mixed
// (SNAS).
#include <ATen/ATen.h>

#include "nascent/search/one_shot/relaxation.h"
#include "nascent/search/one_shot/sampling.h"

namespace nascent {
namespace {

class SampledRelaxation : public ArchitectureRelaxation {
 public:
  using ArchitectureRelaxation::ArchitectureRelaxation;

 protected:
  // The concrete distribution: softmax of perturbed log-probabilities at the place's temperature.
  at::Tensor concrete(const std::string& type, const SearchPlace& place) const {
    const at::Tensor logits = architecture_.log_probabilities(type);
    const at::Tensor noise = gumbel_noise(logits.sizes(), place, "gumbel " + type);
    return ((logits + noise) / options_.temperature_at(place)).softmax(-1);
  }
};

// Only the sampled candidate runs. Its weight is 1; the gradient is that of the concrete distribution.
class GumbelRelaxation : public SampledRelaxation {
 public:
  using SampledRelaxation::SampledRelaxation;

  int candidates_at_once() const override { return 1; }
  Mixture mixture(const SearchPlace& place) const override {
    Mixture result = architecture_.probabilities();
    for (const auto& type : types_) {
      const at::Tensor soft = concrete(type, place);
      const auto sampled = strongest_per_row(soft);
      const at::Tensor hard = at::zeros_like(soft).scatter(-1, soft.detach().argmax(-1, /*keepdim=*/true), 1.0);
      result[type].ops = hard - soft.detach() + soft;
      result[type].active = sampled;
      // The weights of the operations that do not run, whose sum is 0: only their gradient matters.
      if (options_.unsampled_weights) result[type].shifts = (result[type].ops * (1 - hard)).sum(-1);
    }
    return result;
  }

  Policy policy(const SearchPlace& place) const override {
    Policy policy{at::zeros({}), at::zeros({})};
    for (const auto& type : types_) {
      const at::Tensor logits = architecture_.log_probabilities(type);
      const at::Tensor sampled = concrete(type, place).detach().argmax(-1, /*keepdim=*/true);
      policy.log_probability = policy.log_probability + logits.gather(-1, sampled).sum();
      policy.entropy = policy.entropy - (logits.exp() * logits).sum();
    }
    return policy;
  }
};

class ConcreteRelaxation : public SampledRelaxation {
 public:
  using SampledRelaxation::SampledRelaxation;

  Mixture mixture(const SearchPlace& place) const override {
    Mixture result = architecture_.probabilities();
    for (const auto& type : types_) result[type].ops = concrete(type, place);
    return result;
  }
};

const RelaxationFacts kSampled = {
    .domains = {"logits", "simplex"},
    .reads = {"search.spread", "search.sample-per-shard"},
    .smooth_reads = {"search.edge-weights", "search.temperature", "search.temperature-end", "search.anneal"}};

RelaxationFacts gumbel_facts() {
  RelaxationFacts facts = kSampled;
  facts.smooth_reads.push_back("search.unsampled-weights");
  facts.has_policy = true;
  return facts;
}

NASCENT_REGISTER(
    Relaxation, "gumbel", "one sampled candidate runs per site, straight-through gradient (GDAS)",
    [](const RelaxationSetup& setup) { return std::make_unique<GumbelRelaxation>(setup); }, gumbel_facts());
NASCENT_REGISTER(
    Relaxation, "concrete", "every candidate runs, weighted by a sample of the concrete distribution (SNAS)",
    [](const RelaxationSetup& setup) { return std::make_unique<ConcreteRelaxation>(setup); }, kSampled);

}  // namespace
}  // namespace nascent
