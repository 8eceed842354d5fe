// Temperature scaling (Guo et al. 2017): probabilities become softmax(log p / T), with the T that suits held-out labels
// best.
#pragma once

#include "nascent/ensemble/combination.h"

namespace nascent {

Probabilities with_temperature(const Probabilities& probabilities, double temperature);
// The temperature that minimises the negative log-likelihood, between 0.01 and 100.
double fitted_temperature(const Probabilities& probabilities, const Labels& labels);

}  // namespace nascent
