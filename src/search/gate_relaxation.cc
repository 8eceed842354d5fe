// Independent hard-concrete gates, one per candidate, so that candidates do not compete in one softmax (PR-DARTS, 4.1).
#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "search/discretisation.h"
#include "search/relaxation.h"
#include "search/sampling.h"

namespace nascent {
namespace {

class GateRelaxation : public Relaxation {
 public:
  explicit GateRelaxation(const RelaxationSetup& setup) : space_(setup.space), options_(setup.options) {
    for (const auto& cell : setup.space.cells()) {
      const std::vector<int64_t> shape = {Space::sites(cell), static_cast<int64_t>(setup.space.ops().size())};
      at::Tensor logits = at::empty(shape, at::kFloat);
      RandomStream random(setup.seed, "gates " + cell.type);
      for (int64_t i = 0; i < logits.numel(); ++i) {
        logits.data_ptr<float>()[i] = static_cast<float>(options_.spread * random.normal());
      }
      logits_[cell.type] = logits.requires_grad_();
      if (cell.ops_on_nodes)
        fail("Gates stand on edges; the space '{}' has its operations on nodes.", setup.space.name());
    }
  }

  std::vector<at::Tensor> parameters() const override {
    std::vector<at::Tensor> all;
    for (const auto& [type, logits] : logits_) all.push_back(logits);
    return all;
  }

  Mixture mixture(const SearchPlace& place) const override {
    Mixture result;
    for (const auto& [type, logits] : logits_) {
      const at::Tensor noise = logistic_noise(logits.sizes(), place, "gate " + type);
      const at::Tensor soft = ((noise + logits) / options_.temperature_at(place)).sigmoid();
      const double low = options_.stretch_low, high = options_.stretch_high;
      result[type].ops = (low + (high - low) * soft).clamp(0, 1);
      result[type].active = sample_active(type, logits.size(0), logits.size(1), place);
    }
    return result;
  }

  // The probability that a gate is open at all (Theorem 3).
  Mixture probabilities(const SearchPlace& place) const override {
    Mixture result;
    const double shift = options_.temperature_at(place) * std::log(-options_.stretch_low / options_.stretch_high);
    for (const auto& [type, logits] : logits_) result[type].ops = (logits - shift).sigmoid();
    return result;
  }

  Genotype sample(const SearchPlace& place, uint64_t index) const override {
    return sample_genotype(space_, probabilities(place),
                           RandomStream(place.seed, "sample", {static_cast<uint64_t>(place.step), index}));
  }

  void save(State& state, const std::string& prefix) const override {
    for (const auto& [type, logits] : logits_) state.put(prefix + type + ".gates", logits);
  }
  void load(const State& state, const std::string& prefix) override {
    for (const auto& [type, logits] : logits_) state.copy_into(prefix + type + ".gates", logits);
  }

 private:
  // Which candidates run in this step; empty: all of them.
  std::vector<std::vector<int>> sample_active(const std::string& type, int64_t sites, int64_t ops,
                                              const SearchPlace& place) const {
    if (options_.sampled_ops == 0 || options_.sampled_ops >= ops) return {};
    RandomStream random = stream_at(place, "active " + type);
    std::vector<std::vector<int>> active;
    for (int64_t site = 0; site < sites; ++site) {
      const auto order = random.permutation(ops);
      std::vector<int> chosen(order.begin(), order.begin() + options_.sampled_ops);
      std::sort(chosen.begin(), chosen.end());
      active.push_back(std::move(chosen));
    }
    return active;
  }

  const Space& space_;
  RelaxationOptions options_;
  std::map<std::string, at::Tensor> logits_;
};

NASCENT_REGISTER(Relaxation, "gates", "an independent hard-concrete gate per candidate (PR-DARTS)",
                 [](const RelaxationSetup& setup) { return std::make_unique<GateRelaxation>(setup); });

}  // namespace
}  // namespace nascent
