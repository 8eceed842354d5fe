#include "nascent/space/plan.h"

#include <map>

#include "errors.h"
#include "nascent/core/random.h"
#include "nascent/space/nasbench101.h"
#include "nascent/space/operation.h"

namespace nascent {
namespace {

using testing::HasSubstr;

const Shape kCifar{3, 32, 32};

NetworkPlan plan_of(const std::string& genotype, const NetworkOptions& options = {}, Shape input = kCifar,
                    int classes = 10) {
  const Genotype found = find_genotype(genotype);
  return plan_network(*find_space(found.space), found, options, input, classes);
}

double millions(int64_t count) { return static_cast<double>(count) / 1e6; }

TEST(DartsNetwork, ParametersAsPublished) {
  EXPECT_NEAR(millions(count_parameters(plan_of("darts-v2"))), 3.35, 0.005);
  EXPECT_NEAR(millions(count_parameters(plan_of("enas"))), 3.86, 0.005);
  EXPECT_NEAR(millions(count_parameters(plan_of("amoebanet"))), 3.15, 0.005);
  EXPECT_NEAR(millions(count_parameters(plan_of("nasnet"))), 3.83, 0.005);
  // Tables of PC-DARTS and PR-DARTS, to one digit.
  EXPECT_NEAR(millions(count_parameters(plan_of("pc-darts"))), 3.6, 0.05);
  EXPECT_NEAR(millions(count_parameters(plan_of("pr-darts"))), 3.4, 0.05);
}

TEST(DartsNetwork, ImageNetAsPublished) {
  const NetworkPlan plan = plan_of("darts-v2", {.skeleton = "darts-imagenet"}, {3, 224, 224}, 1000);
  EXPECT_NEAR(millions(count_parameters(plan)), 4.7, 0.05);
  const auto millions_of = [](const std::string& name) {
    return millions(count_parameters(plan_of(name, {.skeleton = "darts-imagenet"}, {3, 224, 224}, 1000)));
  };
  EXPECT_NEAR(millions_of("pc-darts"), 5.3, 0.05);
  EXPECT_NEAR(millions_of("pc-darts-imagenet"), 5.3, 0.05);
  EXPECT_NEAR(millions_of("gaea-imagenet"), 5.6, 0.05);
  EXPECT_NEAR(millions_of("pr-darts"), 4.98, 0.005);    // PR-DARTS, Table 2
  EXPECT_LT(millions(count_multiply_adds(plan)), 574);  // the paper's count, which includes more than convolutions
  EXPECT_GT(millions(count_multiply_adds(plan)), 500);
  EXPECT_EQ(plan.cells.size(), 14u);
  EXPECT_EQ(plan.cells[0].output_shape.height, 28);
  EXPECT_EQ(plan.cells.back().output_shape.height, 7);
  EXPECT_EQ(plan.cells[0].preprocess[0][1].kind, StageKind::factorized_reduce);
}

TEST(DartsNetwork, Layout) {
  const NetworkPlan plan = plan_of("darts-v2", {.channels = 8, .cells = 8, .auxiliary = true});
  ASSERT_EQ(plan.cells.size(), 8u);
  EXPECT_EQ(plan.stems.size(), 1u);
  EXPECT_EQ(output_shape(plan.stems[0], kCifar), (Shape{24, 32, 32}));
  for (int i = 0; i < 8; ++i) EXPECT_EQ(plan.cells[i].reduction, i == 2 || i == 5);
  EXPECT_EQ(plan.cells[2].type, "reduce");
  EXPECT_EQ(plan.cells[2].output_shape, (Shape{64, 16, 16}));
  EXPECT_EQ(plan.cells[3].preprocess[0][1].kind, StageKind::factorized_reduce);
  EXPECT_EQ(plan.cells[3].preprocess[1][1].kind, StageKind::conv);
  EXPECT_EQ(plan.auxiliary_cell, 5);
  EXPECT_EQ(plan.cells[5].nodes[1].edges[0].candidates[0].size(), 0u);  // skip_connect from node 2, stride 1
  EXPECT_EQ(plan.cells[5].nodes[0].edges[0].candidates[0][0].stride_h, 2);
  for (const CellPlan& cell : plan.cells) {
    for (const NodePlan& node : cell.nodes) {
      for (const EdgePlan& edge : node.edges)
        EXPECT_TRUE(edge.site == -1 && edge.edge == -1 && edge.candidates.size() == 1);
    }
  }
}

TEST(DartsNetwork, AuxiliaryHeadAsPublished) {
  const NetworkPlan plan = plan_of("darts-v2", {.auxiliary = true});
  const int in = plan.cells[plan.auxiliary_cell].output_shape.channels;
  EXPECT_EQ(plan.auxiliary_cell, 13);
  EXPECT_EQ(plan.auxiliary[1], stage::avg_pool(in, 5, 3, 0));
  const int64_t head = in * 128 + 2 * 128 + 128 * 768 * 4 + 2 * 768 + 768 * 10 + 10;
  EXPECT_EQ(count_parameters(plan, true) - count_parameters(plan), head);
  const NetworkPlan imagenet =
      plan_of("darts-v2", {.skeleton = "darts-imagenet", .auxiliary = true}, {3, 224, 224}, 1000);
  EXPECT_EQ(imagenet.auxiliary[1].kernel_h, 5);
  EXPECT_EQ(imagenet.auxiliary[1].stride_h, 2);
}

TEST(DartsNetwork, AuxiliaryHeadAdaptsToTheImage) {
  for (int side = 5; side < 100; ++side) {
    const NetworkPlan plan =
        plan_of("darts-v1", {.channels = 4, .cells = 6, .auxiliary = true}, {1, side, side + 7}, 3);
    const Shape input = plan.cells[plan.auxiliary_cell].output_shape;
    EXPECT_EQ(output_shape(plan.auxiliary, input), (Shape{3, 1, 1}));
  }
  EXPECT_THAT(error_of([] {
                plan_of("darts-v1", {.auxiliary = true}, {3, 4, 32});
              }),
              HasSubstr("needs at least 2x2 pixels at two thirds of the depth, but the image is 1x8 there."));
}

TEST(DartsNetwork, AnyNumberOfCells) {
  for (int cells = 1; cells < 12; ++cells) {
    const NetworkPlan plan = plan_of("darts-v2", {.channels = 3, .cells = cells});
    EXPECT_EQ(plan.cells.size(), static_cast<size_t>(cells));
    EXPECT_GT(count_multiply_adds(plan), 0);
  }
}

TEST(DartsSupernet, SitesBatchNormsAndPools) {
  const auto space = find_space("darts");
  const NetworkPlan plan = plan_supernet(*space, {.auxiliary = true}, kCifar, 10);
  ASSERT_EQ(plan.cells.size(), 8u);
  EXPECT_FALSE(plan.auxiliary.empty());
  EXPECT_EQ(plan.auxiliary_cell, 5);
  EXPECT_TRUE(plan.stems[0][1].affine);
  for (const CellPlan& cell : plan.cells) {
    int row = 0;
    for (const NodePlan& node : cell.nodes) {
      EXPECT_TRUE(node.candidates.empty());
      for (const EdgePlan& edge : node.edges) {
        EXPECT_EQ(edge.site, row);
        EXPECT_EQ(edge.edge, row++);
        EXPECT_EQ(edge.ops, space->ops());
        EXPECT_EQ(edge.candidates.size(), 8u);
        EXPECT_EQ(edge.candidates[1].back(), stage::batch_norm(edge.candidates[1].back().in, false));
      }
    }
    EXPECT_EQ(row, 14);
  }
  EXPECT_NEAR(millions(count_parameters(plan)), 1.93, 0.01);  // DARTS prints 1.930618 MB for its search network
}

// PC-DARTS: a quarter of the channels pass through the candidates; networks know nothing of it.
TEST(PartialSupernet, CandidatesSeeAQuarterOfTheChannels) {
  const auto space = find_space("darts");
  const NetworkPlan full = plan_supernet(*space, {}, kCifar, 10);
  const NetworkPlan partial = plan_supernet(*space, {.partial = 4}, kCifar, 10);
  const EdgePlan& edge = partial.cells[0].nodes[0].edges[0];
  EXPECT_EQ(edge.partial, 4);
  EXPECT_TRUE(edge.bypass.empty());
  EXPECT_EQ(edge.candidates[4].front().in, 4);
  for (size_t i = 0; i < full.cells.size(); ++i) {
    EXPECT_EQ(partial.cells[i].output_shape, full.cells[i].output_shape);
  }
  // sep_conv_5x5 on 16 channels: 2 * (25 * 16 + 16 * 16); on 4: 2 * (25 * 4 + 4 * 4).
  EXPECT_EQ(parameters(full.cells[0].nodes[0].edges[0].candidates[5]), 2 * (25 * 16 + 16 * 16));
  EXPECT_EQ(parameters(edge.candidates[5]), 2 * (25 * 4 + 4 * 4));
  EXPECT_LT(count_multiply_adds(partial), count_multiply_adds(full));
  const Genotype genotype = find_genotype("darts-v2");
  EXPECT_EQ(count_parameters(plan_network(*space, genotype, {.partial = 4}, kCifar, 10)),
            count_parameters(plan_network(*space, genotype, {}, kCifar, 10)));
}

TEST(DartsS2, EveryCellHasItsOwnType) {
  const auto space = find_space("darts-s2");
  RandomStream random(0, "s2");
  const NetworkPlan plan = plan_network(*space, space->sample(random), {}, kCifar, 10);
  ASSERT_EQ(plan.cells.size(), 20u);
  EXPECT_EQ(plan.cells[7].type, "cell_7");
  EXPECT_TRUE(plan.cells[6].reduction);
  EXPECT_EQ(plan_supernet(*space, {}, kCifar, 10).cells.size(), 20u);
  EXPECT_THROW(plan_supernet(*space, {.cells = 8}, kCifar, 10), Error);
}

TEST(NasBench201Network, KnownCounts) {
  const NetworkPlan empty = plan_of("|none~0|+|none~0|none~1|+|none~0|skip_connect~1|avg_pool_3x3~2|");
  EXPECT_EQ(count_parameters(empty), 73306);
  const NetworkPlan full =
      plan_of("|nor_conv_3x3~0|+|nor_conv_3x3~0|nor_conv_3x3~1|+|nor_conv_3x3~0|nor_conv_3x3~1|nor_conv_3x3~2|");
  EXPECT_EQ(count_parameters(full), 1531546);
  EXPECT_EQ(count_multiply_adds(full), 220119680);
  EXPECT_EQ(full.cells.size(), 17u);
  EXPECT_EQ(full.cells[5].type, "");
  EXPECT_EQ(full.cells.back().output_shape, (Shape{64, 8, 8}));
}

TEST(NasBench201Network, ParametersOfAllArchitecturesInClosedForm) {
  const auto space = find_space("nasbench201");
  space->enumerate([&](const Genotype& genotype) {
    std::map<std::string, int> uses;
    for (const GenotypeNode& node : genotype.cells[0].nodes) {
      for (const GenotypeEdge& edge : node.edges) ++uses[edge.op];
    }
    int64_t expected = 73306;
    for (int64_t c : {16, 32, 64}) {
      expected += 5 * (uses["nor_conv_3x3"] * (9 * c * c + 2 * c) + uses["nor_conv_1x1"] * (c * c + 2 * c));
    }
    const int64_t counted = count_parameters(plan_network(*space, genotype, {}, kCifar, 10));
    EXPECT_EQ(counted, expected) << to_text(genotype, "nasbench201");
    return counted == expected;
  });
}

TEST(NasBench201Supernet, PoolsWithoutBatchNorm) {
  const NetworkPlan plan = plan_supernet(*find_space("nasbench201"), {}, kCifar, 10);
  const EdgePlan& edge = plan.cells[0].nodes[2].edges[1];
  EXPECT_EQ(edge.site, 4);
  EXPECT_EQ(edge.candidates[4], (Stages{stage::avg_pool(16, 3, 1, 1)}));
  EXPECT_FALSE(edge.candidates[3].back().affine);
  EXPECT_TRUE(plan.cells[5].nodes[0].edges[0].candidates[0][2].affine);
}

// The Inception-like cell of the benchmark's own example.
const char* const kInception =
    R"({"matrix": [[0,1,1,1,0,1,0],[0,0,0,0,0,0,1],[0,0,0,0,0,0,1],
                   [0,0,0,0,1,0,0],[0,0,0,0,0,0,1],[0,0,0,0,0,0,1],[0,0,0,0,0,0,0]],
        "ops": ["input", "conv1x1-bn-relu", "conv3x3-bn-relu", "conv3x3-bn-relu", "conv3x3-bn-relu",
                "maxpool3x3", "output"]})";

TEST(NasBench101Network, ParametersAsPublished) { EXPECT_EQ(count_parameters(plan_of(kInception)), 2694282); }

TEST(NasBench101Network, Layout) {
  const NetworkPlan plan = plan_of(kInception);
  ASSERT_EQ(plan.cells.size(), 11u);
  EXPECT_EQ(plan.cells[3].type, "");
  EXPECT_EQ(plan.cells[4].output_shape, (Shape{256, 16, 16}));
  EXPECT_EQ(plan.cells[10].output_shape, (Shape{512, 8, 8}));
  EXPECT_FALSE(plan.cells[0].shortcut.has_value());
}

TEST(NasBench101Network, InputToOutputIsAProjection) {
  const NetworkPlan only = plan_of(R"({"matrix": [[0, 1], [0, 0]], "ops": ["input", "output"]})");
  EXPECT_EQ(only.cells[0].output, std::vector<int>{0});
  EXPECT_EQ(only.cells[0].output_shape.channels, 128);
  const NetworkPlan added =
      plan_of(R"({"matrix": [[0, 1, 1], [0, 0, 1], [0, 0, 0]], "ops": ["input", "conv3x3-bn-relu", "output"]})",
              {.channels = 6});
  ASSERT_TRUE(added.cells[4].shortcut.has_value());
  EXPECT_EQ(output_shape(*added.cells[4].shortcut, added.cells[4].input_shapes[0]), added.cells[4].output_shape);
}

TEST(NasBench101Network, EveryArchitectureHasAPlan) {
  const auto space = find_space("nasbench101");
  for (uint64_t seed = 0; seed < 200; ++seed) {
    RandomStream random(seed, "plan 101");
    const Genotype genotype = space->sample(random);
    const NetworkPlan plan = plan_network(*space, genotype, {.channels = 10, .cells = 1}, {1, 9, 7}, 3);
    EXPECT_EQ(plan.cells.back().output_shape, (Shape{40, 3, 2})) << describe(genotype);
    EXPECT_GT(count_multiply_adds(plan), 0);
  }
}

TEST(OneShotSupernet, WeighsInputsAndOutput) {
  const auto space = find_space("nasbench1shot1-s1");
  const NetworkPlan plan = plan_supernet(*space, {}, kCifar, 10);
  const CellPlan& cell = plan.cells[0];
  ASSERT_EQ(cell.nodes.size(), 4u);
  EXPECT_EQ(cell.nodes[2].site, 2);
  EXPECT_EQ(cell.nodes[2].candidates.size(), 3u);
  EXPECT_EQ(cell.nodes[2].edges[1].edge, 4);
  EXPECT_EQ(cell.nodes[2].edges[1].site, -1);
  EXPECT_EQ(cell.output, (std::vector<int>{1, 2, 3, 4}));
  EXPECT_EQ(cell.shortcut_edge, 10);
  EXPECT_EQ(cell.output_edges, (std::vector<int>{11, 12, 13, 14}));
  EXPECT_EQ(cell.output_shape, (Shape{64, 32, 32}));
  EXPECT_EQ(output_shape(*cell.shortcut, cell.input_shapes[0]), cell.output_shape);
  EXPECT_THAT(error_of([] { plan_supernet(*find_space("nasbench101"), {}, kCifar, 10); }),
              HasSubstr("has no supernet"));
}

// As in the benchmark's own supernet: norms with scale and shift, none after pools; a node that takes all its candidate
// inputs weights none of them; a ReLU-conv-BN, not affine, before the classifier.
TEST(OneShotSupernet, IsTheBenchmarks) {
  const auto space = find_space("nasbench1shot1-s1");
  const NetworkPlan plan = plan_supernet(*space, {}, kCifar, 10);
  const CellPlan& cell = plan.cells[0];
  EXPECT_TRUE(cell.nodes[0].edges[0].candidates[0][1].affine);
  EXPECT_TRUE(cell.nodes[1].candidates[1][1].affine);
  EXPECT_EQ(cell.nodes[1].candidates[2], (Stages{stage::max_pool(16, 3, 1, 1)}));
  for (const EdgePlan& edge : cell.nodes[0].edges) EXPECT_EQ(edge.edge, -1);
  for (const EdgePlan& edge : cell.nodes[1].edges) EXPECT_EQ(edge.edge, -1) << "S1's node 2 keeps both inputs";
  EXPECT_EQ(cell.nodes[2].edges[0].edge, 3);
  const NetworkPlan other = plan_supernet(*find_space("nasbench1shot1-s2"), {}, kCifar, 10);
  EXPECT_EQ(other.cells[0].nodes[1].edges[0].edge, 1) << "in S2 it keeps one of two";
  EXPECT_EQ(plan.head, (Stages{stage::relu(256), stage::conv(256, 64, 1), stage::batch_norm(64, false),
                               stage::global_avg_pool(64), stage::linear(64, 10)}));
}

TEST(OneShotNetwork, EqualsItsNasBench101Network) {
  const auto space = find_space("nasbench1shot1-s2");
  RandomStream random(0, "one shot");
  const Genotype genotype = space->sample(random);
  const Genotype converted = to_nasbench101(genotype);
  EXPECT_EQ(count_parameters(plan_network(*space, genotype, {}, kCifar, 10)),
            count_parameters(plan_network(*find_space("nasbench101"), converted, {}, kCifar, 10)));
}

TEST(Plan, RectangularOddAndSmallImages) {
  for (const std::string& name : Space::Registry::instance().names()) {
    const auto space = find_space(name);
    for (const Shape input : {Shape{1, 28, 28}, Shape{3, 33, 47}, Shape{2, 7, 5}, Shape{3, 1, 1}}) {
      RandomStream random(1, "images");
      const Genotype genotype = space->sample(random);
      NetworkOptions options{.channels = 6};
      const NetworkPlan network = plan_network(*space, genotype, options, input, 7);
      EXPECT_EQ(output_shape(network.head, network.cells.back().output_shape), (Shape{7, 1, 1}));
      EXPECT_GT(count_multiply_adds(network), 0);
      if (name == "nasbench101") continue;
      const NetworkPlan supernet = plan_supernet(*space, options, input, 7);
      EXPECT_EQ(output_shape(supernet.head, supernet.cells.back().output_shape), (Shape{7, 1, 1}));
      EXPECT_GT(count_multiply_adds(supernet), 0);
    }
  }
}

TEST(Plan, OtherSkeletonsOfASpace) {
  EXPECT_EQ(plan_of("nasbench201:15000", {.channels = 8, .cells = 5, .skeleton = "darts"}).skeleton, "darts");
  EXPECT_THAT(error_of([] { plan_of("darts-v2", {.skeleton = "nasbench201"}); }),
              HasSubstr("takes 2 inputs, but its skeleton offers 1"));
  EXPECT_THAT(error_of([] { plan_of("darts-v2", {.skeleton = "nasbench101"}); }),
              HasSubstr("one input and operations on nodes"));
  EXPECT_THAT(error_of([] { plan_of("darts-v2", {.skeleton = "resnet"}); }),
              HasSubstr("There is no skeleton 'resnet'. Known: darts, darts-imagenet, nasbench101, nasbench201."));
}

TEST(Plan, Errors) {
  EXPECT_THAT(error_of([] { plan_supernet(*find_space("nasbench201"), {.auxiliary = true}, kCifar, 10); }),
              HasSubstr("'nasbench201' has no auxiliary head"));
  EXPECT_THAT(error_of([] { plan_of("nasbench201:3", {.auxiliary = true}); }),
              HasSubstr("'nasbench201' has no auxiliary head"));
  EXPECT_THAT(error_of([] { plan_of("darts-v2", {}, {3, 0, 32}); }), HasSubstr("Images of 3x0x32"));
  EXPECT_THAT(error_of([] { plan_of("darts-v2", {}, kCifar, 0); }), HasSubstr("at least 1 class"));
  EXPECT_THAT(error_of([] { plan_of("darts-v2", {.channels = -3}); }), HasSubstr("network.channels is -3"));
  EXPECT_THAT(error_of([] { plan_of("darts-v2", {.cells = -1}); }), HasSubstr("network.cells is -1"));
  for (const std::string name : {"darts", "nasbench201", "nasbench1shot1-s1"}) {
    EXPECT_THAT(error_of([&] { plan_supernet(*find_space(name), {.channels = 6, .partial = 4}, kCifar, 10); }),
                HasSubstr("network.partial is 4, by which the 6 channels"));
  }
  Genotype genotype = find_genotype("darts-v2");
  genotype.cells[0].nodes[0].edges[0].op = "none";
  EXPECT_THROW(plan_network(*find_space("darts"), genotype, {}, kCifar, 10), Error);
}

TEST(NetworkOptions, AreDeclaredOnce) {
  NetworkOptions options;
  OptionTable table;
  options.declare(table);
  table.read_toml(
      "[network]\nchannels = 24\ncells = 14\nskeleton = \"darts-imagenet\"\nauxiliary = true\ndrop-path = 0.2\n",
      "run.toml");
  EXPECT_EQ(options.channels, 24);
  EXPECT_EQ(options.cells, 14);
  EXPECT_EQ(options.skeleton, "darts-imagenet");
  EXPECT_TRUE(options.auxiliary);
  EXPECT_DOUBLE_EQ(options.drop_path, 0.2);
  EXPECT_THROW(table.read_toml("[network]\ndrop-path = 1.5\n", "run.toml"), Error);
  EXPECT_THROW(table.read_toml("[network]\nchannels = -1\n", "run.toml"), Error);
}

}  // namespace
}  // namespace nascent
