// The posterior as a relaxation: every step runs one architecture drawn from p_alpha, which learns beside the weights
// (NESBS's best-response posterior; thesis, 5.5.2). And its distance from the uniform prior as a regulariser.
#include <ATen/ATen.h>

#include "nascent/search/one_shot/posterior.h"
#include "nascent/search/one_shot/regulariser.h"

namespace nascent {
namespace {

class PosteriorRelaxation : public Relaxation {
 public:
  explicit PosteriorRelaxation(const RelaxationSetup& setup)
      : options_(setup.options), posterior_(setup.space, {.spread = setup.options.spread}, setup.seed) {
    if (!options_.exclude.empty()) {
      fail(
          "--exclude: the relaxation 'posterior' is a distribution over the whole space. Give a space without these "
          "operations (--space FILE.toml).");
    }
  }

  std::vector<at::Tensor> parameters() const override { return posterior_.parameters(); }
  int candidates_at_once() const override { return 1; }
  Mixture mixture(const SearchPlace& place) const override {
    return posterior_.straight_through(place, options_.temperature_at(place));
  }
  Mixture probabilities(const SearchPlace&) const override { return posterior_.probabilities(); }
  Genotype sample(const SearchPlace& place, uint64_t index) const override {
    RandomStream random(place.seed, "sample", {static_cast<uint64_t>(place.step), index});
    return posterior_.sample(random);
  }

  void save(State& state, const std::string& prefix) const override { posterior_.save(state, prefix); }
  void load(const State& state, const std::string& prefix) override { posterior_.load(state, prefix); }

 private:
  RelaxationOptions options_;
  ArchitecturePosterior posterior_;
};

class UniformDivergence : public Regulariser {
 public:
  explicit UniformDivergence(const RegulariserSetup& setup) : shape_(setup.space), strength_(setup.strength) {}

  at::Tensor penalty(const Mixture& probabilities) const override {
    Mixture logits;
    for (const auto& [type, cell] : probabilities) {
      if (!cell.edges.defined())
        fail("The regulariser 'uniform' needs edges with probabilities of their own; use --relaxation posterior.");
      logits[type].ops = cell.ops.to(at::kDouble).clamp_min(1e-30).log();
      logits[type].edges = cell.edges.to(at::kDouble).clamp_min(1e-30).log();
    }
    return strength_ * shape_.divergence(logits).to(at::kFloat);
  }

 private:
  PosteriorShape shape_;
  double strength_;
};

NASCENT_REGISTER(
    Relaxation, "posterior",
    "one architecture drawn from a learnt distribution runs at every step, its inputs without replacement "
    "(NESBS, best response)",
    [](const RelaxationSetup& setup) { return std::make_unique<PosteriorRelaxation>(setup); },
    RelaxationFacts{.domains = {"logits"},
                    .reads = {"search.spread", "search.temperature", "search.temperature-end", "search.anneal",
                              "search.sample-per-shard"}});
NASCENT_REGISTER(Regulariser, "uniform",
                 "KL divergence of the distribution over architectures from the uniform one (NESBS's prior)",
                 [](const RegulariserSetup& setup) { return std::make_unique<UniformDivergence>(setup); });

}  // namespace
}  // namespace nascent
