// How good ensembles of 1, 2, ... of the members are: over all subsets of a size, or over random ones where there are
// many.
#pragma once

#include "nascent/ensemble/figures.h"

namespace nascent {

struct CurvePoint {
  int members = 0;
  int64_t subsets = 0;
  bool all = true;               // every subset of this size was taken
  MeanAndError error{}, loss{};  // percent and nats, over the subsets
};

std::vector<CurvePoint> member_curve(const Members& members, const Labels& labels, Combination how, uint64_t seed,
                                     int64_t most_subsets = 200);

}  // namespace nascent
