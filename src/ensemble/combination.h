// The prediction of an ensemble: the average of its members' probabilities, or the softmax of their average logits.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "nascent/train/predictions.h"

namespace nascent {

enum class Combination { probabilities, logits };
Combination combination(const std::string& name);  // "probabilities", "logits"
const std::vector<std::string>& combination_names();

// A probability below this counts as this, so that its logarithm is finite.
constexpr double kLeastProbability = 1e-12;

// Members of one ensemble, all of the same images and classes.
using Members = std::vector<Probabilities>;

// Where the tables of members are.
std::vector<const Probabilities*> tables_of(const Members& members);

// An Error where there is no member, or where images or classes differ from member to member or from the labels.
void check_members(std::span<const Probabilities* const> members, const Labels& labels);
void check_members(const Members& members, const Labels& labels);

// Weights are of the members, 0 or more, and are scaled to sum to 1; empty: all the same. The logits of a member are
// the logarithms of its probabilities: what they lack is one number per image, which a softmax does not see.
Probabilities combine(const Members& members, Combination how, std::span<const double> weights = {});

// Mean negative log-likelihood of the labels, in nats.
double negative_log_likelihood(const Probabilities& probabilities, const Labels& labels);

}  // namespace nascent
