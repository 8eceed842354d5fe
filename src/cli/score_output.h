// Training-free scores, for people: one architecture, the best of many, and how metrics agree with a benchmark.
#pragma once

#include <string>

#include "nascent/cli/verb.h"
#include "nascent/score/scoring.h"

namespace nascent {

struct AgreementOptions {
  std::string table{}, measure = "cifar10_test200";
  int tries = 300;  // pairs (mu, nu) of the non-realisable bound
};

// Returns the scores.
Json print_one(const Invocation& invocation, const ScoringResult& result);
// Every architecture with its scores, of many the first; then, by print_best, which is best by each metric.
void print_all(const Invocation& invocation, const ScoringResult& result);
void print_best(const Invocation& invocation, const ScoringResult& result);
// As Markdown: thesis tables 7.1, 7.4 and 7.5.
void print_agreement(const Invocation& invocation, const ScoringResult& result, const AgreementOptions& options,
                     int64_t seed);

}  // namespace nascent
