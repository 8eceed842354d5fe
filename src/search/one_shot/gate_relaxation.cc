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
    for (int op = 0; op < static_cast<int>(ops); ++op) {
      if (std::find(excluded.begin(), excluded.end(), op) == excluded.end()) left_.push_back(op);
    }
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
    const double shift = shift_at(place);
    for (const auto& [type, gates] : gates_) {
      result[type].ops = (gates.ops - shift).sigmoid();
      if (gates.edges.defined()) result[type].edges = (gates.edges - shift).sigmoid();
    }
    return result;
  }

  // In double, where no probability rounds to 1 that matters: at a temperature of 10 all of them do in float.
  Mixture log_strengths(const SearchPlace& place) const override {
    const double shift = std::max(shift_at(place), kLeastShift);
    const auto log_open = [&](const at::Tensor& logits) { return -(shift - doubled(logits)).exp().log1p(); };
    Mixture result;
    for (const auto& [type, gates] : gates_) {
      result[type].ops = log_open(gates.ops);
      if (gates.edges.defined()) result[type].edges = log_open(gates.edges);
    }
    return result;
  }

  Mixture expected(const SearchPlace& place) const override {
    at::NoGradGuard no_grad;
    Mixture result;
    for (const auto& [type, gates] : gates_) {
      result[type].ops = mean_gate(gates.ops, place);
      if (gates.edges.defined()) result[type].edges = mean_gate(gates.edges, place);
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
  // Below it exp(shift) is 0 even in double; what is far from closing is then ranked as if it were a little closer.
  static constexpr double kLeastShift = -600;

  static at::Tensor doubled(const at::Tensor& logits) { return logits.detach().to(at::kDouble); }

  double shift_at(const SearchPlace& place) const {
    return options_.temperature_at(place) * std::log(-options_.stretch_low / options_.stretch_high);
  }

  // E[g] is the integral over t from 0 to 1 of P(g > t) = sigmoid(beta - temperature * logit((t - low) / (high -
  // low))).
  at::Tensor mean_gate(const at::Tensor& logits, const SearchPlace& place) const {
    constexpr int kPoints = 256;
    const double low = options_.stretch_low, high = options_.stretch_high;
    const at::Tensor t = (at::arange(kPoints, at::kDouble) + 0.5) / kPoints;
    const at::Tensor threshold = options_.temperature_at(place) * ((t - low) / (high - low)).logit();
    return (doubled(logits).unsqueeze(-1) - threshold).sigmoid().mean(-1).to(at::kFloat);
  }

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

  // Which candidates run in this step; empty: all of them. What is excluded takes no place among them.
  std::vector<std::vector<int>> sample_active(const std::string& type, int64_t sites, int64_t ops,
                                              const SearchPlace& place) const {
    const auto left = static_cast<int64_t>(left_.size());
    const int64_t count = options_.sampled_ops == 0 ? left : std::min<int64_t>(options_.sampled_ops, left);
    if (count == ops) return {};
    RandomStream random = stream_at(place, "active " + type);
    std::vector<std::vector<int>> active;
    for (int64_t site = 0; site < sites; ++site) {
      const auto order = random.permutation(left);
      std::vector<int> chosen;
      for (int64_t i = 0; i < count; ++i) chosen.push_back(left_[static_cast<size_t>(order[static_cast<size_t>(i)])]);
      std::sort(chosen.begin(), chosen.end());
      active.push_back(std::move(chosen));
    }
    return active;
  }

  const Space& space_;
  RelaxationOptions options_;
  std::vector<int> left_;  // operations that are not excluded
  std::map<std::string, Gates> gates_;
};

NASCENT_REGISTER(
    Relaxation, "gates", "an independent hard-concrete gate per candidate (PR-DARTS)",
    [](const RelaxationSetup& setup) { return std::make_unique<GateRelaxation>(setup); },
    RelaxationFacts{.domains = {"logits"},
                    .reads = {"search.edge-weights", "search.spread", "search.temperature", "search.temperature-end",
                              "search.anneal", "search.stretch-low", "search.stretch-high", "search.sampled-ops",
                              "search.sample-per-shard"}});

}  // namespace
}  // namespace nascent
