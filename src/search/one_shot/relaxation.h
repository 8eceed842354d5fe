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

  double progress() const {
    return static_cast<double>(step) / static_cast<double>(steps);
  }  // 0 at the start, 1 at the end
};

struct RelaxationOptions {
  std::string relaxation = "softmax";
  std::string domain = "logits";       // what the parameters are: "logits" or "simplex"
  bool edge_weights = false;           // every edge has a weight of its own (PC-DARTS)
  std::vector<std::string> exclude{};  // operations left out of the search
  double spread = 1e-3;                // of the initial logits
  double temperature = 10, temperature_end = 0.1;
  std::string anneal = "linear";                  // how the temperature falls: "linear" or "exponential"
  double stretch_low = -0.1, stretch_high = 1.1;  // of hard-concrete gates
  int sampled_ops = 2;                            // gates: operations that run per site and step; 0: all
  void declare(OptionTable& table);

  double temperature_at(const SearchPlace& place) const;
};

// What a relaxation needs to know about the search it serves.
struct RelaxationSetup {
  const Space& space;
  const RelaxationOptions& options;
  uint64_t seed = 0;
};

class Relaxation : public Stateful {
 public:
  static std::string kind() { return "relaxation"; }
  using Registry = nascent::Registry<Relaxation, std::unique_ptr<Relaxation>(const RelaxationSetup&)>;

  // What an architecture update may change.
  virtual std::vector<at::Tensor> parameters() const = 0;
  // Candidates of a site that run in one pass; 0: all.
  virtual int candidates_at_once() const { return 0; }
  // The weights of one forward pass; gradients flow back to parameters().
  virtual Mixture mixture(const SearchPlace& place) const = 0;
  // How much each candidate is believed in: what discretisation, regularisers and the report read; differentiable too.
  virtual Mixture probabilities(const SearchPlace& place) const = 0;

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

// A relaxation whose parameters are an ArchitectureParameters.
class ArchitectureRelaxation : public Relaxation {
 public:
  explicit ArchitectureRelaxation(const RelaxationSetup& setup);

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
