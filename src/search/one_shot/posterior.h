// A distribution over architectures, p_alpha (NESBS; thesis, 5.2.2 and 5.3.3), as a product of independent parts: the
// inputs that a node keeps are drawn without replacement from a softmax over its candidate edges, then an operation
// stands at every site, from a softmax over the operations that genotypes may hold.
//
//   ArchitecturePosterior posterior(space, {.temperature = 1}, seed);
//   posterior.divergence().backward();          // KL to the uniform distribution, in closed form
//   Genotype genotype = posterior.sample(random);
#pragma once

#include <memory>
#include <vector>

#include "nascent/core/random.h"
#include "nascent/search/architecture_code.h"
#include "nascent/search/one_shot/architecture_parameters.h"
#include "nascent/search/one_shot/relaxation.h"

namespace nascent {

// The ways to keep inputs in one group of edges, and how likely each is.
class InputSets {
 public:
  explicit InputSets(const EdgeGroup& group);

  const std::vector<std::vector<int>>& sets() const { return sets_; }
  // Logarithms of the sets' probabilities where inputs are drawn without replacement in proportion to exp(logits):
  // P{a,b} = pa pb (1/(1-pa) + 1/(1-pb)). Differentiable.
  at::Tensor log_probabilities(const at::Tensor& logits) const;
  // Of each input, the probability that it is kept.
  at::Tensor kept(const at::Tensor& log_sets) const;
  size_t index_of(const std::vector<int>& set) const;

 private:
  std::vector<std::vector<int>> sets_;
  at::Tensor orders_;    // [sets, orders of one, keep]: positions
  at::Tensor gone_;      // [sets, orders, keep, inputs]: drawn before
  at::Tensor contains_;  // [inputs, sets]
};

// What a space looks like to a distribution over it.
class PosteriorShape {
 public:
  explicit PosteriorShape(const Space& space);

  struct Cell {
    std::string type;
    bool ops_on_nodes = false;
    std::vector<EdgeGroup> groups;
    std::vector<InputSets> inputs;  // one per group
  };
  const std::vector<Cell>& cells() const { return cells_; }
  const std::vector<int>& ops() const { return ops_; }  // those that genotypes may hold

  // KL from the uniform distribution: sum over nodes of [sum over sets of P ln(P C(k,2)) + sum over edges of P(kept)
  // sum over operations of p ln(p |O|)]. Rows of logarithms as in a Mixture, shifts per site and group do not matter.
  at::Tensor divergence(const Mixture& logits) const;
  // Logits of one group's edges, and of one cell's allowed operations, normalised and in double precision.
  at::Tensor group_logits(const CellMixture& logits, const EdgeGroup& group) const;
  at::Tensor op_log_probabilities(const CellMixture& logits) const;

 private:
  std::vector<Cell> cells_;
  std::vector<int> ops_;
  at::Tensor op_index_;
};

struct PosteriorSettings {
  double temperature = 1;  // tau of (5.6)
  double spread = 1e-3;    // deviation of the initial logits
};

class ArchitecturePosterior : public Stateful {
 public:
  ArchitecturePosterior(const Space& space, const PosteriorSettings& settings, uint64_t seed);

  const Space& space() const { return space_; }
  const PosteriorShape& shape() const { return shape_; }
  std::vector<at::Tensor> parameters() const { return architecture_.tensors(); }
  double temperature() const { return settings_.temperature; }
  void set_temperature(double temperature) { settings_.temperature = temperature; }

  // Logits over tau, by cell.
  Mixture logits() const;
  // Softmax of the operations of every site and of the candidate edges of every node.
  Mixture probabilities() const;
  at::Tensor divergence() const { return shape_.divergence(logits()); }
  double log_probability(const Genotype& genotype) const;
  // Per site of a cell, the probability that its edge is kept; empty where operations stand on nodes, and where all
  // edges always are.
  std::vector<double> kept(size_t cell) const;
  // Per cell, the entropy of its part of the distribution, in nats.
  std::vector<double> entropies() const;

  Genotype sample(RandomStream& random) const;
  Genotype most_probable() const;
  // One architecture drawn at a place: weights are 1, gradients those of the relaxed draw (straight-through Gumbel; the
  // inputs by a relaxed top-k).
  Mixture straight_through(const SearchPlace& place, double gumbel_temperature) const;

  void save(State& state, const std::string& prefix) const override { architecture_.save(state, prefix); }
  void load(const State& state, const std::string& prefix) override { architecture_.load(state, prefix); }

 private:
  const Space& space_;
  PosteriorSettings settings_;
  PosteriorShape shape_;
  ArchitectureParameters architecture_;
};

}  // namespace nascent
