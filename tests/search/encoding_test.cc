#include "nascent/search/encoding.h"

#include <set>

#include "nascent/space/nasbench101.h"
#include "table/fixtures.h"

namespace nascent {
namespace {

using testing::ElementsAre;

Genotype with_sorted_edges(Genotype genotype) {
  for (auto& cell : genotype.cells) {
    for (auto& node : cell.nodes) std::sort(node.edges.begin(), node.edges.end());
    std::sort(cell.output.begin(), cell.output.end());
  }
  return genotype;
}

TEST(Encoding, NasBench201IsOneChoicePerEdge) {
  const Encoding encoding(find_space("nasbench201"));
  EXPECT_THAT(encoding.sizes(), ElementsAre(5, 5, 5, 5, 5, 5));
  const auto genotype = encoding.decode({0, 1, 2, 3, 4, 0});
  ASSERT_TRUE(genotype.has_value());
  EXPECT_EQ(to_text(*genotype, "nasbench201"),
            "|none~0|+|skip_connect~0|nor_conv_1x1~1|+|nor_conv_3x3~0|avg_pool_3x3~1|none~2|");
  EXPECT_THAT(encoding.encode(*genotype), ElementsAre(0, 1, 2, 3, 4, 0));
}

TEST(Encoding, EveryArchitectureOfNasBench201HasItsOwn) {
  const auto space = find_space("nasbench201");
  const Encoding encoding(space);
  std::set<Choices> all;
  space->enumerate([&](const Genotype& genotype) { return all.insert(encoding.encode(genotype)).second; });
  EXPECT_EQ(all.size(), 15625u);
}

TEST(Encoding, SamplesOfEverySpaceComeBack) {
  for (const std::string& name : Space::Registry::instance().names()) {
    const auto space = find_space(name);
    const Encoding encoding(space);
    for (const int size : encoding.sizes()) EXPECT_GE(size, 2) << name;
    RandomStream random(1, "sample");
    for (int i = 0; i < 20; ++i) {
      const Genotype genotype = space->sample(random);
      const Choices choices = encoding.encode(genotype);
      ASSERT_EQ(choices.size(), encoding.sizes().size()) << name;
      for (size_t c = 0; c < choices.size(); ++c) {
        EXPECT_GE(choices[c], 0) << name;
        EXPECT_LT(choices[c], encoding.sizes()[c]) << name;
      }
      const auto back = encoding.decode(choices);
      ASSERT_TRUE(back.has_value()) << name;
      if (name == "nasbench101") {
        EXPECT_EQ(graph_hash(back->cells[0]), graph_hash(genotype.cells[0]));
      } else {
        EXPECT_EQ(with_sorted_edges(*back), with_sorted_edges(genotype)) << name;
      }
    }
  }
}

TEST(Encoding, NeighboursDifferInOneChoice) {
  const Encoding encoding(find_space("nasbench201"));
  const Choices here = {0, 1, 2, 3, 4, 0};
  const auto neighbours = encoding.neighbours(here);
  EXPECT_EQ(neighbours.size(), 24u);
  EXPECT_EQ(std::set(neighbours.begin(), neighbours.end()).size(), 24u);
  for (const Choices& other : neighbours) {
    int differ = 0;
    for (size_t i = 0; i < here.size(); ++i) differ += other[i] != here[i];
    EXPECT_EQ(differ, 1);
  }
}

TEST(Encoding, WhatIsNoNasBench101CellIsNotDecoded) {
  const Encoding encoding(find_space("nasbench101"));
  EXPECT_FALSE(encoding.decode(Choices(26, 0)).has_value()) << "no path to the output";
  EXPECT_FALSE(encoding.decode(Choices(26, 1)).has_value()) << "21 edges";
  RandomStream random(1, "sample");
  for (const Choices& choices : encoding.neighbours(encoding.sample(random))) {
    EXPECT_TRUE(encoding.decode(choices).has_value());
  }
}

}  // namespace
}  // namespace nascent
