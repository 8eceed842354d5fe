#include "nascent/search/discretisation.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "nascent/search/one_shot/one_hot.h"
#include "nascent/space/cell_space.h"

namespace nascent {
namespace {

// One-hot probabilities give back the genotype they were made of.
TEST(StrongestGenotype, InvertsOneHot) {
  for (const std::string name :
       {"darts", "darts-s1", "darts-s2", "nasbench201", "nasbench1shot1-s1", "nasbench1shot1-s3"}) {
    const auto space = find_space(name);
    for (uint64_t i = 0; i < 20; ++i) {
      RandomStream random(1, name, {i});
      const Genotype genotype = space->sample(random);
      EXPECT_EQ(strongest_genotype(*space, one_hot(*space, genotype)), genotype) << name;
    }
  }
}

Mixture uniform(const Space& space) {
  Mixture mixture;
  for (const auto& cell : space.cells()) {
    const auto ops = static_cast<int64_t>(space.ops().size());
    mixture[cell.type].ops = at::full({Space::sites(cell), ops}, 1.0 / static_cast<double>(ops));
  }
  return mixture;
}

TEST(StrongestGenotype, DartsNeverPicksNone) {
  const auto space = find_space("darts");
  Mixture mixture = uniform(*space);
  mixture["normal"].ops.select(1, 0).fill_(0.9);
  const Genotype genotype = strongest_genotype(*space, mixture);
  for (const auto& node : genotype.cell("normal").nodes) {
    for (const auto& edge : node.edges) EXPECT_NE(edge.op, "none");
  }
}

TEST(StrongestGenotype, NasBench201MayPickNone) {
  const auto space = find_space("nasbench201");
  Mixture mixture = uniform(*space);
  mixture["cell"].ops.select(1, 0).fill_(0.9);
  EXPECT_EQ(strongest_genotype(*space, mixture).cell("cell").nodes[0].edges[0].op, "none");
}

TEST(StrongestGenotype, KeepsTheEdgesWithTheBestOperation) {
  const auto space = find_space("darts");
  Mixture mixture = uniform(*space);
  // Edges into the last node are rows 9 to 13, from states 0 to 4.
  mixture["normal"].ops[10][4] = 0.8;
  mixture["normal"].ops[13][5] = 0.7;
  mixture["normal"].ops[12][0] = 0.99;  // a strong 'none' does not count
  const auto edges = strongest_genotype(*space, mixture).cell("normal").nodes[3].edges;
  EXPECT_EQ(edges, (std::vector<GenotypeEdge>{{1, "sep_conv_3x3"}, {4, "sep_conv_5x5"}}));
}

TEST(EdgeWeighted, RanksByEdgeTimesOperation) {
  const auto space = find_space("darts");
  Mixture mixture = uniform(*space);
  mixture["normal"].ops[10][4] = 0.8;
  for (const auto& cell : space->cells()) mixture[cell.type].edges = at::full({14}, 0.1);
  mixture["normal"].edges[11] = 0.9;
  mixture["normal"].edges[12] = 0.9;
  const auto edges = strongest_genotype(*space, mixture, true).cell("normal").nodes[3].edges;
  EXPECT_EQ(edges[0].from, 2);
  EXPECT_EQ(edges[1].from, 3);
}

TEST(SampleGenotype, DrawsOperationsInProportion) {
  const auto space = find_space("nasbench201");
  Mixture mixture = uniform(*space);
  for (int64_t op = 0; op < 5; ++op) mixture["cell"].ops.select(1, op).fill_(op == 3 ? 0.6 : 0.1);
  int hits = 0;
  for (uint64_t i = 0; i < 2000; ++i) {
    const Genotype genotype = sample_genotype(*space, mixture, RandomStream(1, "draw", {i}));
    hits += genotype.cell("cell").nodes[0].edges[0].op == space->ops()[3];
  }
  EXPECT_NEAR(hits / 2000.0, 0.6, 0.05);
}

// Chi-squared of how often each of a node's sets of edges and its operations are drawn, against the probabilities of
// drawing edges one after another in proportion to what is left.
TEST(SampleGenotype, DrawsEdgesByTheirOwnProbability) {
  CellChoices cell{.type = "cell", .inputs = 2, .nodes = {{{0, 1}, 2}, {{0, 1, 2}, 2}}, .output = {2, 3}};
  const CellSpace space({.name = "small", .ops = {"skip_connect", "nor_conv_3x3"}, .cells = {cell}});
  Mixture mixture;
  // Operations whose probabilities differ between edges must not bend those of the edges.
  mixture["cell"].ops = at::tensor({0.9, 0.1, 0.1, 0.9, 0.99, 0.01, 0.5, 0.5, 0.6, 0.4}, at::kDouble).view({5, 2});
  mixture["cell"].edges = at::tensor({0.5, 0.5, 0.6, 0.3, 0.1}, at::kDouble);
  const std::vector<double> p = {0.6, 0.3, 0.1};
  std::map<std::pair<int, int>, double> expected;
  for (int i = 0; i < 3; ++i) {
    for (int j = i + 1; j < 3; ++j) expected[{i, j}] = p[i] * p[j] / (1 - p[i]) + p[j] * p[i] / (1 - p[j]);
  }
  constexpr int kDraws = 20000;
  std::map<std::pair<int, int>, int> counts;
  int skips = 0;
  for (uint64_t i = 0; i < kDraws; ++i) {
    const auto nodes = sample_genotype(space, mixture, RandomStream(3, "draw", {i})).cells[0].nodes;
    ++counts[{nodes[1].edges[0].from, nodes[1].edges[1].from}];
    skips += nodes[0].edges[0].op == "skip_connect";
  }
  double squares = 0;
  for (const auto& [pair, probability] : expected) {
    squares += std::pow(counts[pair] - kDraws * probability, 2) / (kDraws * probability);
  }
  EXPECT_LT(squares, 13.8);  // 0.1 % of samples exceed it at 2 degrees of freedom
  EXPECT_NEAR(skips / static_cast<double>(kDraws), 0.9, 0.01);
}

// PR-DARTS, 5.1: the two best operations of a node, also where both read the same input.
TEST(StrongestOperations, MayReadOneInputTwice) {
  const auto derive = [](const std::string& name) {
    const auto space = find_space(name);
    Mixture logs = uniform(*space);
    logs["normal"].ops[10][4] = 3;  // edges into the last node are rows 9 to 13, from states 0 to 4
    logs["normal"].ops[10][6] = 2;
    logs["normal"].ops[12][5] = 1;
    logs["normal"].ops[11][0] = 9;  // 'none' does not count
    return strongest_genotype(*space, logs, EdgeRanking::operations).cell("normal").nodes[3].edges;
  };
  EXPECT_EQ(derive("darts-pr"), (std::vector<GenotypeEdge>{{1, "sep_conv_3x3"}, {1, "dil_conv_3x3"}}));
  // Where a node must take different inputs, the best of those.
  EXPECT_EQ(derive("darts"), (std::vector<GenotypeEdge>{{1, "sep_conv_3x3"}, {3, "sep_conv_5x5"}}));
}

TEST(BestSample, PicksTheHighestAccuracy) {
  const auto space = find_space("nasbench201");
  DiscretisationSetup setup{*space, uniform(*space), {}, {}, 50};
  setup.sample = [&](uint64_t i) { return space->at(static_cast<double>(i)); };
  setup.shared_accuracy = [&](const Genotype& genotype) { return -std::abs(space->index_of(genotype) - 31); };
  EXPECT_EQ(Discretisation::Registry::instance().make("best-sample", setup), space->at(31));
}

}  // namespace
}  // namespace nascent
