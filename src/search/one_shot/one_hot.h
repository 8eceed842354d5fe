// A discrete architecture inside a supernet: what evaluating a genotype with shared weights needs.
#pragma once

#include "nascent/nn/mixture.h"
#include "nascent/space/space.h"

namespace nascent {

// Weight 1 for the genotype's operations and edges, nothing else runs.
Mixture one_hot(const Space& space, const Genotype& genotype);

}  // namespace nascent
