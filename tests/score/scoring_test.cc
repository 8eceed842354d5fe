#include "nascent/score/scoring.h"

#include <gtest/gtest.h>

#include <cmath>

namespace nascent {
namespace {

// The first one was the best where it was no number: nothing is greater or less than that.
TEST(BestBy, WhatIsNoNumberIsNeverTheBest) {
  for (const std::string metric : {"trace", "kappa"}) {
    ScoreColumns scores({metric}, 4);  // all of them NaN
    EXPECT_EQ(best_by(metric, scores), 0u);
    scores.set(1, {{metric, 2}});
    scores.set(3, {{metric, metric == "kappa" ? 1 : 3}});
    EXPECT_EQ(best_by(metric, scores), 3u) << metric;
  }
}

}  // namespace
}  // namespace nascent
