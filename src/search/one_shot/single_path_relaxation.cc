// Uniform single path: every step runs one architecture drawn uniformly from the space; nothing about it is learnt
// (RS-WS, NESBS).
#include <ATen/ATen.h>

#include <algorithm>

#include "nascent/search/one_shot/one_hot.h"
#include "nascent/search/one_shot/relaxation.h"
#include "nascent/search/one_shot/sampling.h"

namespace nascent {
namespace {

class SinglePathRelaxation : public Relaxation {
 public:
  explicit SinglePathRelaxation(const RelaxationSetup& setup)
      : space_(setup.space), drawn_(without(setup.space, setup.options.exclude)) {}

  std::vector<at::Tensor> parameters() const override { return {}; }

  int candidates_at_once() const override { return 1; }
  Mixture mixture(const SearchPlace& place) const override {
    RandomStream random = stream_at(place, "single path");
    return one_hot(space_, drawn_->sample(random));
  }

  Mixture probabilities(const SearchPlace&) const override {
    Mixture result;
    for (const auto& cell : space_.cells()) {
      at::Tensor row = at::zeros({static_cast<int64_t>(space_.ops().size())});
      for (size_t op = 0; op < space_.ops().size(); ++op) {
        const auto& drawn = drawn_->ops();
        if (std::find(drawn.begin(), drawn.end(), space_.ops()[op]) != drawn.end())
          row[static_cast<int64_t>(op)] = 1.0 / static_cast<double>(drawn.size());
      }
      result[cell.type].ops = row.repeat({Space::sites(cell), 1});
      if (cell.ops_on_nodes) result[cell.type].edges = at::ones({static_cast<int64_t>(Space::edges(cell).size())});
    }
    return result;
  }

  Genotype sample(const SearchPlace& place, uint64_t index) const override {
    RandomStream random(place.seed, "sample", {static_cast<uint64_t>(place.step), index});
    return drawn_->sample(random);
  }

  void save(State&, const std::string&) const override {}
  void load(const State&, const std::string&) override {}

 private:
  const Space& space_;
  std::shared_ptr<const Space> drawn_;  // without what is excluded
};

NASCENT_REGISTER(
    Relaxation, "single-path", "one architecture drawn uniformly runs at every step; nothing is learnt (RS-WS)",
    [](const RelaxationSetup& setup) { return std::make_unique<SinglePathRelaxation>(setup); },
    RelaxationFacts{.domains = {}, .reads = {}, .learns = false, .differentiable = false});

}  // namespace
}  // namespace nascent
