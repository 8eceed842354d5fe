#include "nascent/nn/inherit.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "nascent/core/error.h"
#include "nn/samples.h"

namespace nascent {
namespace {

using namespace testing_nn;

NetworkOptions darts_options(int channels = 4) {
  NetworkOptions options;
  options.cells = 3;
  options.channels = channels;
  return options;
}

TEST(Inherit, ADerivedNetworkStartsWithTheSupernetsWeightsOfTheSameSeed) {
  const auto space = find_space("darts");
  Network supernet(plan_supernet(*space, darts_options(), {3, 16, 16}, 10), 6);
  Network derived(derive_plan(supernet.plan(), find_genotype("darts-v2")), 6);
  const auto weights = supernet.named_parameters();
  for (const auto& item : derived.named_parameters()) {
    EXPECT_TRUE(at::equal(item.value(), weights[item.key()])) << item.key();
  }
}

TEST(Inherit, ATrainingNetworkTakesWhatTheSupernetHas) {
  const auto space = find_space("darts");
  Network supernet(plan_supernet(*space, darts_options(), {3, 32, 32}, 10), 1);
  supernet.named_buffers()["cell0.pre0.2.running_mean"].fill_(0.25);
  NetworkOptions options = darts_options();
  options.auxiliary = true;
  Network network(plan_network(*space, find_genotype("darts-v2"), options, {3, 32, 32}, 10), 2);
  const auto alone = copy_weights(supernet, network);
  for (const std::string& name : alone) EXPECT_TRUE(name.starts_with("auxiliary.")) << name;
  EXPECT_FALSE(alone.empty());
  const auto from = supernet.named_parameters(), to = network.named_parameters();
  const std::string sep = "cell0.node2.from1.sep_conv_3x3";
  EXPECT_TRUE(at::equal(from[sep + ".2.weight"], to[sep + ".2.weight"]));
  EXPECT_TRUE(at::equal(to[sep + ".3.weight"], at::ones({4})));
  EXPECT_TRUE(at::equal(to[sep + ".3.bias"], at::zeros({4})));
  EXPECT_EQ(network.named_buffers()["cell0.pre0.2.running_mean"][0].item<float>(), 0.25f);
}

TEST(Inherit, RepeatedInputsShareTheSupernetsEdge) {
  const auto space = find_space("nasnet");
  Network supernet(plan_supernet(*space, darts_options(), {3, 16, 16}, 10), 1);
  Genotype genotype = find_genotype("nasnet");
  for (CellGenotype& cell : genotype.cells) cell.nodes[0].edges = {{0, "sep_conv_3x3"}, {0, "sep_conv_3x3"}};
  Network derived(derive_plan(supernet.plan(), genotype), 2);
  EXPECT_TRUE(copy_weights(supernet, derived).empty());
  const auto weights = derived.named_parameters();
  EXPECT_TRUE(at::equal(weights["cell0.node2.from0.sep_conv_3x3.1.weight"],
                        weights["cell0.node2.from0_2.sep_conv_3x3.1.weight"]));
}

TEST(Inherit, ShapesThatDifferAreAnError) {
  const auto space = find_space("darts");
  Network supernet(plan_supernet(*space, darts_options(4), {3, 16, 16}, 10), 1);
  Network wider(plan_network(*space, find_genotype("darts-v2"), darts_options(8), {3, 16, 16}, 10), 2);
  EXPECT_THROW(copy_weights(supernet, wider), Error);
}

TEST(Inherit, ChoicesThatTheSupernetLacksAreAnError) {
  const auto space = find_space("darts");
  const NetworkPlan supernet = plan_supernet(*space, darts_options(), {3, 16, 16}, 10);
  Genotype genotype = find_genotype("darts-v2");
  genotype.cells[0].nodes[0].edges[0].op = "conv_7x1_1x7";
  EXPECT_THROW(derive_plan(supernet, genotype), Error);
  genotype = find_genotype("darts-v2");
  genotype.cells[0].nodes[0].edges[0].from = 4;
  EXPECT_THROW(derive_plan(supernet, genotype), Error);
  genotype = find_genotype("darts-v2");
  genotype.cells[0].nodes.pop_back();
  EXPECT_THROW(derive_plan(supernet, genotype), Error);
}

}  // namespace
}  // namespace nascent
