// What the ensemble verbs say to people.
#pragma once

#include <vector>

#include "nascent/cli/verb.h"
#include "nascent/space/genotype.h"

namespace nascent {

void print_members(const Invocation& invocation, const std::vector<Genotype>& members);
// Of trained ones, from their "cells" and "sizes", and what they come to together.
void print_trained_members(const Invocation& invocation, const Json& result);
// From EnsembleFigures::to_json().
void print_figures(const Invocation& invocation, const Json& figures);
// From mean_and_error() of such objects.
void print_trials(const Invocation& invocation, const Json& mean);

// What 'nascent ensemble eval' tells besides: calibration, curve, corruptions.
void print_evaluation(const Invocation& invocation, const Json& result);

}  // namespace nascent
