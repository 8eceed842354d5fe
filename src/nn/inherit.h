// From a supernet to the network of one of its architectures: the plan in the supernet's own form, and the weights.
//
//   Network derived(derive_plan(supernet.plan(), genotype), seed);
//   copy_weights(supernet, derived);  // now gives what `supernet` gives under a one-hot mixture
#pragma once

#include <string>
#include <vector>

#include "nascent/nn/network.h"
#include "nascent/space/genotype.h"
#include "nascent/space/plan.h"

namespace nascent {

// The supernet's plan with only the genotype's choices left. Unlike plan_network it keeps the form of the search (batch
// norms as they are there, pools followed by one, 1Shot1 outputs at full width), so every weight has its counterpart.
NetworkPlan derive_plan(const NetworkPlan& supernet, const Genotype& genotype);

// Copies every parameter and running statistic of `to` that `from` has too, matched by name. Where only `to` learns the
// scale and shift of a batch norm, they become 1 and 0. Returns the names that have no counterpart and were left alone
// (an auxiliary head, say). An Error where shapes differ.
std::vector<std::string> copy_weights(const Network& from, Network& to);

}  // namespace nascent
