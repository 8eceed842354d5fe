#include "nascent/space/choice_code.h"

#include <gtest/gtest.h>

namespace nascent {
namespace {

TEST(ChoiceCode, Binomials) {
  EXPECT_EQ(binomial(5, 2), 10);
  EXPECT_EQ(binomial(5, 0), 1);
  EXPECT_EQ(binomial(3, 4), 0);
  EXPECT_EQ(binomial(50, 25), 126410606437752.0);
}

TEST(ChoiceCode, RanksAreLexicographic) {
  int64_t rank = 0;
  for (int a = 0; a < 7; ++a) {
    for (int b = a + 1; b < 7; ++b) {
      for (int c = b + 1; c < 7; ++c, ++rank) {
        EXPECT_EQ(rank_choice(7, {a, b, c}), rank);
        EXPECT_EQ(unrank_choice(7, 3, rank), (std::vector<int>{a, b, c}));
      }
    }
  }
  EXPECT_EQ(rank, binomial(7, 3));
}

// Every code is a different node, and encodes back to itself.
void expect_bijection(const CellChoices& cell, const NodeChoices& node, double count) {
  const NodeCode code(cell, node, {"skip_connect", "sep_conv_3x3", "max_pool_3x3"});
  ASSERT_EQ(code.count(), count);
  for (int64_t i = 0; i < static_cast<int64_t>(count); ++i) EXPECT_EQ(code.encode(code.decode(i)), i);
}

TEST(ChoiceCode, NodesOfAllKinds) {
  const NodeChoices node{.inputs = {0, 2, 3, 5}, .keep = 2};
  expect_bijection({}, node, 6 * 9);
  expect_bijection({.repeat_inputs = true}, node, 12 * 13 / 2);
  expect_bijection({.ops_on_nodes = true}, node, 6 * 3);
  expect_bijection({.repeat_inputs = true, .ops_on_nodes = true}, node, 10 * 3);
  expect_bijection({}, {.inputs = {1}, .keep = 1}, 3);
}

}  // namespace
}  // namespace nascent
