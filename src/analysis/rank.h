// How well estimates rank architectures: shared weights, training-free metrics or short trainings against the truth.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "nascent/core/options.h"

namespace nascent {

struct RankAgreement {
  std::string estimate{};
  int64_t architectures = 0;
  double spearman = 0, pearson = 0, kendall = 0;  // NaN where undefined: one of the lists is constant
  // Chance that a random order goes with the truth at least as well, either way round; undefined with the correlation.
  double spearman_p = 0, pearson_p = 0, kendall_p = 0;
  // Of the best `share` by the truth, the part that is among the best by the estimate, and what chance would give
  // (thesis, Table 5.6).
  double agreement = 0, agreement_chance = 0, agreement_p = 0;
  Json to_json() const;
};

struct RankOptions {
  double share = 0.3;       // of agreement-k
  int permutations = 1000;  // of the p-values; their least value is one over this, plus one
  uint64_t seed = 1;
};

// Higher is better in both lists; pairs in which a number is not finite are left out. An Error with fewer than three.
RankAgreement rank_agreement(const std::string& name, std::span<const double> estimates, std::span<const double> truth,
                             const RankOptions& options);

// The part of the best `count` of one list that is among the best `count` of the other; of equal numbers the earlier
// come first.
double top_overlap(std::span<const double> a, std::span<const double> b, size_t count);

}  // namespace nascent
