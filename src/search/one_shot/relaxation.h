// Relaxations: how the candidates of a site are mixed in a forward pass. One axis of every weight-sharing method.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "nascent/core/registry.h"
#include "nascent/nn/mixture.h"
#include "nascent/search/one_shot/architecture_parameters.h"
#include "nascent/train/state.h"

namespace nascent {

// Where in a search a pass happens: what sampling and temperatures depend on. Two passes at the same place draw the
// same sample.
struct SearchPlace {
  enum class Pass { weights, architecture };

  uint64_t seed = 0;
  int64_t epoch = 0;
  int64_t step = 0, steps = 1;  // from the start of the search, and in all
  Pass pass = Pass::weights;    // which block the pass serves
  int64_t draw = 0;             // numbers the samples that one step compares
  int64_t shard = 0;            // of the batch, where every shard draws a sample of its own

  double progress() const {
    return static_cast<double>(step) / static_cast<double>(steps);
  }  // 0 at the start, 1 at the end
};

struct RelaxationOptions {
  std::string relaxation = "softmax";
  std::string domain = "auto";         // what the parameters are: "logits", "simplex", or what the relaxation prefers
  bool edge_weights = false;           // every edge has a weight of its own (PC-DARTS)
  std::vector<std::string> exclude{};  // operations left out of the search
  double spread = 1e-3;                // of the initial logits
  double temperature = 10, temperature_end = 0.1;
  std::string anneal = "linear";                  // how the temperature falls: "linear" or "exponential"
  double stretch_low = -0.1, stretch_high = 1.1;  // of hard-concrete gates
  int sampled_ops = 2;                            // gates: operations that run per site and step; 0: all
  bool unsampled_weights = false;                 // gumbel: operations that do not run pass a gradient all the same
  bool sample_per_shard = false;                  // every shard of a batch draws for itself (train/shards.h)
  void declare(OptionTable& table);

  double temperature_at(const SearchPlace& place) const;
};

// What a relaxation needs to know about the search it serves.
struct RelaxationSetup {
  const Space& space;
  const RelaxationOptions& options;
  uint64_t seed = 0;
};

struct RelaxationFacts {
  std::vector<std::string> domains{};  // that its parameters may have, the preferred one first; empty: neither
  std::vector<std::string> reads{};    // keys of options that only some relaxations make use of (see method_check.h)
  std::vector<std::string> smooth_reads{};  // those that matter only where gradients flow through the supernet
  bool learns = true;                       // it has parameters
  bool differentiable = true;  // gradients flow from the supernet, and from probabilities, to its parameters
  bool has_policy = false;     // it samples architectures of known probability
};

class Relaxation : public Stateful {
 public:
  static std::string kind() { return "relaxation"; }
  using Registry = nascent::Registry<Relaxation, std::unique_ptr<Relaxation>(const RelaxationSetup&), RelaxationFacts>;

  // What an architecture update may change.
  virtual std::vector<at::Tensor> parameters() const = 0;
  // Candidates of a site that run in one pass; 0: all.
  virtual int candidates_at_once() const { return 0; }
  // The weights of one forward pass; gradients flow back to parameters().
  virtual Mixture mixture(const SearchPlace& place) const = 0;
  // How much each candidate is believed in: what regularisers and the report read; differentiable too.
  virtual Mixture probabilities(const SearchPlace& place) const = 0;
  // What discretisation ranks candidates by, in double: logarithms of the probabilities, without the rounding that
  // makes equals of probabilities close to 1.
  virtual Mixture log_strengths(const SearchPlace& place) const;
  // The mean of mixture(): what the supernet is judged with as a whole.
  virtual Mixture expected(const SearchPlace& place) const { return probabilities(place); }

  // An architecture drawn from the probabilities; `index` numbers the draws.
  virtual Genotype sample(const SearchPlace& place, uint64_t index) const = 0;

  // The parameters as points of simplices, for updates that need them so; null where they are something else.
  virtual ArchitectureParameters* architecture() { return nullptr; }
  // The logarithm of the probability of the architecture that mixture(place) samples, and the entropy of that
  // distribution, for policy gradients; an Error where nothing is sampled.
  struct Policy {
    at::Tensor log_probability, entropy;
  };
  virtual Policy policy(const SearchPlace& place) const;
};

// The space without the operations that --exclude names: what architectures are drawn from. They stay candidates of the
// supernet, so its rows of weights are those of `space`.
std::shared_ptr<const Space> without(const Space& space, const std::vector<std::string>& excluded);

// A relaxation whose parameters are an ArchitectureParameters.
class ArchitectureRelaxation : public Relaxation {
 public:
  // `preferred`: the domain unless the options say another.
  explicit ArchitectureRelaxation(const RelaxationSetup& setup, Domain preferred = Domain::logits);

  std::vector<at::Tensor> parameters() const override { return architecture_.tensors(); }
  Mixture probabilities(const SearchPlace&) const override { return architecture_.probabilities(); }
  Genotype sample(const SearchPlace& place, uint64_t index) const override;
  ArchitectureParameters* architecture() override { return &architecture_; }
  void save(State& state, const std::string& prefix) const override { architecture_.save(state, prefix); }
  void load(const State& state, const std::string& prefix) override { architecture_.load(state, prefix); }

 protected:
  RelaxationOptions options_;
  ArchitectureParameters architecture_;
  const Space& space_;
  std::vector<std::string> types_;  // of cells
};

}  // namespace nascent
