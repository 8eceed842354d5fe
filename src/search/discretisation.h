// Discretisations: from what a search believes to a genotype.
#pragma once

#include <functional>
#include <string>

#include "nascent/core/random.h"
#include "nascent/core/registry.h"
#include "nascent/nn/mixture.h"
#include "nascent/space/space.h"

namespace nascent {

// What a discretisation may look at.
struct DiscretisationSetup {
  const Space& space;
  Mixture probabilities;
  std::function<Genotype(uint64_t index)> sample;          // draws from the relaxation
  std::function<double(const Genotype&)> shared_accuracy;  // with the supernet's weights, on held-out images
  int samples = 100;
};

struct Discretisation {
  static std::string kind() { return "discretisation"; }
  using Registry = nascent::Registry<Discretisation, Genotype(const DiscretisationSetup&)>;
};

// The strongest operation of every site and the strongest edges of every node.
Genotype strongest_genotype(const Space& space, const Mixture& probabilities, bool use_edge_weights = false);
// The same after multiplying every probability with exp(Gumbel noise): operations are then drawn in proportion to their
// probability, edges without replacement.
Genotype sample_genotype(const Space& space, const Mixture& probabilities, RandomStream random);

}  // namespace nascent
