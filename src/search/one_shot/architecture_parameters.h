// The architecture parameters of a search: for every type of cell a row of numbers per site and, where edges are
// weighted, one per edge.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "nascent/nn/mixture.h"
#include "nascent/space/space.h"
#include "nascent/train/state.h"

namespace nascent {

// What the numbers are: logits of a softmax, or probabilities themselves (points of a simplex).
enum class Domain { logits, simplex };

struct ArchitectureParametersOptions {
  Domain domain = Domain::logits;
  bool weighted_edges = false;       // every edge has a weight of its own, normalised over the edges into its node
  double spread = 1e-3;              // deviation of the initial logits; the simplex starts uniform
  std::vector<std::string> exclude;  // operations that start, and so stay, at probability 0
  uint64_t seed = 0;
};

constexpr double kNever = -1e9;  // a logit whose probability is 0

// Indices of the operations that --exclude names; an Error where one is unknown or none is left.
std::vector<int64_t> excluded_indices(const std::vector<std::string>& names, const std::vector<std::string>& ops);

class ArchitectureParameters : public Stateful {
 public:
  ArchitectureParameters(const Space& space, const ArchitectureParametersOptions& options);

  // Every tensor that an update may change, in a fixed order.
  std::vector<at::Tensor> tensors() const;
  // Probabilities per site and edge; gradients flow back to tensors().
  Mixture probabilities() const;
  // Logarithms of the site probabilities of one type of cell.
  at::Tensor log_probabilities(const std::string& type) const;

  Domain domain() const { return options_.domain; }
  // Scales every site, and the edges into every node, back to a sum of 1. Only for Domain::simplex.
  void normalise();

  void save(State& state, const std::string& prefix) const override;
  void load(const State& state, const std::string& prefix) override;

 private:
  struct Cell {
    std::string type;
    at::Tensor ops;
    at::Tensor edges;                     // undefined where edges are not weighted
    std::vector<std::vector<int>> nodes;  // rows of `edges` that lead into the same node
  };
  at::Tensor edge_probabilities(const Cell& cell) const;
  const Cell& cell(const std::string& type) const;

  ArchitectureParametersOptions options_;
  std::vector<Cell> cells_;
};

// Mean over sites of the entropy of their probabilities, in nats.
double mean_entropy(const Mixture& probabilities);

}  // namespace nascent
