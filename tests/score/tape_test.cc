#include "nascent/score/tape.h"

#include <gtest/gtest.h>

#include "nascent/score/passes.h"
#include "score/samples.h"

namespace nascent {
namespace {

using testing_score::Sample;

class TapeOf : public testing::TestWithParam<std::string> {};

TEST_P(TapeOf, GivesTheLogitsOfTheNetwork) {
  const Sample sample(GetParam());
  Network network(sample.plan(), 1, "lecun");
  network.to(torch::kDouble);
  network.train();
  const TensorBatch batch = sample.batch(5, at::kDouble);
  const Tape tape(network);
  const Trace trace = forward(tape, batch.images);
  EXPECT_TRUE(at::allclose(trace.values[tape.logits()], network.forward(batch.images).logits, 1e-9, 1e-9));
}

INSTANTIATE_TEST_SUITE_P(, TapeOf, testing::ValuesIn(testing_score::architectures()),
                         [](const auto& info) { return std::to_string(info.index); });

TEST(Tape, LeavesOutWhatIsZeroAndSharesReLUs) {
  // Edges 0-1 and 0-3 have a convolution each behind a ReLU of the same input; the rest is nothing.
  const Sample sample("|nor_conv_3x3~0|+|none~0|none~1|+|nor_conv_1x1~0|skip_connect~1|none~2|");
  const Network network(sample.plan(), 1, "lecun");
  const Tape tape(network);
  int shared = 0;
  for (size_t i = 0; i < tape.steps().size(); ++i) shared += tape.copies(i) == 2 ? 1 : 0;
  EXPECT_EQ(shared, 3);  // one a cell
  EXPECT_EQ(tape.idle_units(), 0);
}

TEST(Tape, CountsTheUnitsOfReLUsThatSeeZeros) {
  const Sample sample("|none~0|+|nor_conv_3x3~0|nor_conv_3x3~1|+|none~0|none~1|skip_connect~2|");
  const Tape tape(Network(sample.plan(), 1, "lecun"));
  // The ReLU of edge 1-2 in three cells of 3, 6 and 12 channels.
  EXPECT_EQ(tape.idle_units(), 3 * 100 + 6 * 25 + 12 * 9);
}

TEST(Tape, KnowsAnArchitectureWithoutAPath) {
  const Sample sample("|none~0|+|none~0|nor_conv_3x3~1|+|none~0|none~1|none~2|");
  const Tape tape(Network(sample.plan(), 1, "lecun"));
  EXPECT_FALSE(tape.is_connected());
}

TEST(Tape, RefusesASupernet) {
  const Sample sample("nasbench201:0");
  const Network supernet(plan_supernet(*sample.space, sample.size, sample.input, 4), 1);
  EXPECT_THROW(Tape{supernet}, Error);
}

}  // namespace
}  // namespace nascent
