// Independent hard-concrete gates, one per candidate, so that candidates do not compete in one softmax (PR-DARTS, 4.1).
#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "nascent/search/discretisation.h"
#include "nascent/search/one_shot/relaxation.h"
#include "nascent/search/one_shot/sampling.h"

namespace nascent {
namespace {

class GateRelaxation : public Relaxation {
 public:
  explicit GateRelaxation(const RelaxationSetup& setup) : space_(setup.space), options_(setup.options) {
    const auto ops = static_cast<int64_t>(setup.space.ops().size());
    const auto excluded = excluded_indices(options_.exclude, setup.space.ops());
    for (const auto& cell : setup.space.cells()) {
      Gates& gates = gates_[cell.type];
      gates.ops = initial({Space::sites(cell), ops}, setup.seed, "gates " + cell.type);
      for (const int64_t op : excluded) gates.ops.detach().select(1, op).fill_(kNever);
      // Where operations stand on nodes, edges are choices of their own.
      if (!cell.ops_on_nodes && !options_.edge_weights) continue;
      gates.edges = initial({static_cast<int64_t>(Space::edges(cell).size())}, setup.seed, "edge gates " + cell.type);
    }
  }

  std::vector<at::Tensor> parameters() const override {
    std::vector<at::Tensor> all;
    for (const auto& [type, gates] : gates_) {
      all.push_back(gates.ops);
      if (gates.edges.defined()) all.push_back(gates.edges);
    }
    return all;
  }

  int candidates_at_once() const override { return options_.sampled_ops; }
  Mixture mixture(const SearchPlace& place) const override {
    Mixture result;
    for (const auto& [type, gates] : gates_) {
      result[type].ops = opened(gates.ops, place, "gate " + type);
      if (gates.edges.defined()) result[type].edges = opened(gates.edges, place, "edge gate " + type);
      result[type].active = sample_active(type, gates.ops.size(0), gates.ops.size(1), place);
    }
    return result;
  }

  // The probability that a gate is open at all (Theorem 3).
  Mixture probabilities(const SearchPlace& place) const override {
    Mixture result;
    const double shift = options_.temperature_at(place) * std::log(-options_.stretch_low / options_.stretch_high);
    for (const auto& [type, gates] : gates_) {
      result[type].ops = (gates.ops - shift).sigmoid();
      if (gates.edges.defined()) result[type].edges = (gates.edges - shift).sigmoid();
    }
    return result;
  }

  Genotype sample(const SearchPlace& place, uint64_t index) const override {
    return sample_genotype(space_, probabilities(place),
                           RandomStream(place.seed, "sample", {static_cast<uint64_t>(place.step), index}));
  }

  void save(State& state, const std::string& prefix) const override {
    for (const auto& [type, gates] : gates_) {
      state.put(prefix + type + ".gates", gates.ops);
      if (gates.edges.defined()) state.put(prefix + type + ".edge-gates", gates.edges);
    }
  }
  void load(const State& state, const std::string& prefix) override {
    for (const auto& [type, gates] : gates_) {
      state.copy_into(prefix + type + ".gates", gates.ops);
      if (gates.edges.defined()) state.copy_into(prefix + type + ".edge-gates", gates.edges);
    }
  }

 private:
  // Logits of one type of cell.
  struct Gates {
    at::Tensor ops, edges;  // edges: undefined where they are not weighted
  };

  at::Tensor initial(at::IntArrayRef shape, uint64_t seed, const std::string& purpose) const {
    at::Tensor logits = at::empty(shape, at::kFloat);
    RandomStream random(seed, purpose);
    for (int64_t i = 0; i < logits.numel(); ++i) {
      logits.data_ptr<float>()[i] = static_cast<float>(options_.spread * random.normal());
    }
    return logits.requires_grad_();
  }

  // A sample of the gates: hard-concrete, so exactly 0 or 1 with some probability.
  at::Tensor opened(const at::Tensor& logits, const SearchPlace& place, const std::string& purpose) const {
    const at::Tensor noise = logistic_noise(logits.sizes(), place, purpose);
    const at::Tensor soft = ((noise + logits) / options_.temperature_at(place)).sigmoid();
    const double low = options_.stretch_low, high = options_.stretch_high;
    return (low + (high - low) * soft).clamp(0, 1);
  }

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
  std::map<std::string, Gates> gates_;
};

NASCENT_REGISTER(Relaxation, "gates", "an independent hard-concrete gate per candidate (PR-DARTS)",
                 [](const RelaxationSetup& setup) { return std::make_unique<GateRelaxation>(setup); });

}  // namespace
}  // namespace nascent
