// Discretisations: from what a search believes to a genotype.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "nascent/core/random.h"
#include "nascent/core/registry.h"
#include "nascent/nn/mixture.h"
#include "nascent/space/space.h"

namespace nascent {

// What decides which edges of a node are kept. Where operations stand on nodes, edges are ranked by their own weights
// in any case.
enum class EdgeRanking {
  operation,           // the best operation on the edge (DARTS)
  edge_and_operation,  // the same times the weight of the edge (PC-DARTS)
  edge,                // the weight of the edge alone
  operations           // operations are kept, not edges: the best of all inputs together (PR-DARTS)
};

// What a discretisation may look at.
struct DiscretisationSetup {
  const Space& space;
  Mixture log_strengths;                                   // Relaxation::log_strengths
  std::function<Genotype(uint64_t index)> sample;          // draws from the relaxation
  std::function<double(const Genotype&)> shared_accuracy;  // with the supernet's weights
  int samples = 100;
};

struct DiscretisationFacts {
  EdgeRanking ranking = EdgeRanking::operation;  // of what the search leans to meanwhile
  bool ranks = true;                             // it needs preferences; false: it compares samples
  std::vector<std::string> reads{};              // keys of options that only some discretisations make use of
};

struct Discretisation {
  static std::string kind() { return "discretisation"; }
  using Registry = nascent::Registry<Discretisation, Genotype(const DiscretisationSetup&), DiscretisationFacts>;
};

// The strongest operation of every site and the strongest edges of every node. Equals are kept in their order.
Genotype strongest_genotype(const Space& space, const Mixture& log_strengths, EdgeRanking ranking);
// The same from probabilities.
Genotype strongest_genotype(const Space& space, const Mixture& probabilities, bool use_edge_weights = false);
// Draws the operation of every site in proportion to its probability, and the edges of every node in proportion to
// theirs, without replacement. An edge without a weight of its own counts with the probability of all operations that a
// genotype may have.
Genotype sample_genotype(const Space& space, const Mixture& probabilities, RandomStream random);

}  // namespace nascent
