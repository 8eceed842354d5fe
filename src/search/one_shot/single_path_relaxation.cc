// Single paths: every step runs one architecture drawn from the space; nothing about it is learnt. Uniformly (RS-WS,
// NESBS), or strictly fair to the operations (after FairNAS, Chu et al. 2019).
#include <ATen/ATen.h>

#include <algorithm>

#include "nascent/search/architecture_code.h"
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
        const auto& drawn = drawn_->genotype_ops();
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

 protected:
  const Space& space_;
  std::shared_ptr<const Space> drawn_;  // without what is excluded
};

// The inputs of an architecture stay for as many steps as there are operations, and in these steps every edge that is
// kept trains each of its operations once.
class FairPathRelaxation : public SinglePathRelaxation {
 public:
  explicit FairPathRelaxation(const RelaxationSetup& setup)
      : SinglePathRelaxation(setup), ops_(genotype_op_indices(*drawn_)) {
    for (const CellChoices& cell : space_.cells()) groups_.push_back(edge_groups(cell));
  }

  Mixture mixture(const SearchPlace& place) const override {
    const auto rounds = static_cast<int64_t>(ops_.size());
    return one_hot(space_, path(place.seed, place.step / rounds, place.step % rounds));
  }

 private:
  // The architecture of step `turn` within round `round`.
  Genotype path(uint64_t seed, int64_t round, int64_t turn) const {
    RandomStream random(seed, "fair path", {static_cast<uint64_t>(round)});
    std::vector<CellCode> codes;
    for (size_t cell = 0; cell < groups_.size(); ++cell) {
      CellCode code;
      for (const EdgeGroup& group : groups_[cell]) {
        const auto order = random.permutation(static_cast<int64_t>(group.rows.size()));
        std::vector<int> kept(order.begin(), order.begin() + group.keep);
        std::sort(kept.begin(), kept.end());
        code.kept.push_back(std::move(kept));
      }
      for (int site = 0; site < Space::sites(space_.cells()[cell]); ++site) {
        const auto order = random.permutation(static_cast<int64_t>(ops_.size()));
        code.ops.push_back(ops_[static_cast<size_t>(order[static_cast<size_t>(turn)])]);
      }
      codes.push_back(std::move(code));
    }
    return decode(space_, codes);
  }

  std::vector<int> ops_;                        // that are drawn, as indices of the space's
  std::vector<std::vector<EdgeGroup>> groups_;  // per cell
};

NASCENT_REGISTER(
    Relaxation, "single-path", "one architecture drawn uniformly runs at every step; nothing is learnt (RS-WS)",
    [](const RelaxationSetup& setup) { return std::make_unique<SinglePathRelaxation>(setup); },
    RelaxationFacts{.domains = {}, .reads = {"search.sample-per-shard"}, .learns = false, .differentiable = false});

NASCENT_REGISTER(
    Relaxation, "fair-path",
    "single paths that train every operation of a kept edge once in as many steps as there are operations",
    [](const RelaxationSetup& setup) { return std::make_unique<FairPathRelaxation>(setup); },
    RelaxationFacts{.domains = {}, .reads = {}, .learns = false, .differentiable = false});

}  // namespace
}  // namespace nascent
