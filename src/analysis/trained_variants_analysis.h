// A cell and its variants trained side by side as one run: what `nascent analyze convergence` and `nascent analyze
// generalisation` do.
#pragma once

#include "nascent/analysis/trained_variants.h"
#include "nascent/train/session.h"

namespace nascent {

// What the trainings are compared by.
enum class VariantsQuestion {
  convergence,    // who learns first: test loss and accuracy by epoch
  generalisation  // who ends best: final accuracies
};

// What each question is asked with unless told otherwise: for generalisation 13 variants, the adapted cell and 3 seeds.
TrainedVariantsOptions usual_options(VariantsQuestion question);

// Leaves trainings.csv, pictures, result.json and the report in the session's folder; returns the result.
Json analyse_trained_variants(const TrainedVariantsOptions& options, VariantsQuestion question, Session& session);
// The same for people, a line per training.
std::vector<std::string> describe_trained_variants(const Json& result, double accuracy);

}  // namespace nascent
