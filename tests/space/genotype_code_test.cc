#include "nascent/space/genotype_code.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "errors.h"

namespace nascent {
namespace {

using testing::HasSubstr;

const std::vector<std::string> kSpaces = {"darts", "darts-pr",    "darts-s2",          "nasnet",
                                          "cells", "nasbench201", "nasbench1shot1-s1", "nasbench101"};

Genotype shuffled(Genotype genotype, RandomStream& random) {
  const auto shuffle = [&](auto& list) {
    for (size_t i = list.size(); i > 1; --i) std::swap(list[i - 1], list[static_cast<size_t>(random.below(i))]);
  };
  shuffle(genotype.cells);
  for (CellGenotype& cell : genotype.cells) {
    shuffle(cell.output);
    for (GenotypeNode& node : cell.nodes) shuffle(node.edges);
  }
  return genotype;
}

TEST(GenotypeCode, TheCanonicalTextIsWrittenDownInTheFormat) {
  const Genotype genotype = parse_genotype(
      "Genotype(normal=[('skip_connect', 1), ('none', 0)], normal_concat=[2], reduce=[('sep_conv_3x3', 1), "
      "('max_pool_3x3', 1), ('skip_connect', 0), ('dil_conv_5x5', 2)], reduce_concat=[3, 2])",
      "darts", "darts");
  const std::string text =
      "normal 2:none~0,skip_connect~1>2;reduce 2:max_pool_3x3~1,sep_conv_3x3~1|skip_connect~0,dil_conv_5x5~2>2,3";
  EXPECT_EQ(canonical_text(genotype), text);
  EXPECT_EQ(genotype_hash(genotype), hash128(text));
  EXPECT_EQ(canonical_text(find_space("nasbench1shot1-s1")->at(0)).substr(0, 10), "cell 1:con");
}

TEST(GenotypeCode, OrdersThatMeanNothingDoNotMatterAndAllElseDoes) {
  RandomStream random(3, "codes");
  for (const std::string& name : kSpaces) {
    const auto space = find_space(name);
    const GenotypeCode code = GenotypeCode::of(*space);
    std::set<std::string> texts, codes;
    std::set<Hash128> hashes;
    std::set<Genotype> different;
    for (int i = 0; i < 200; ++i) {
      const Genotype genotype = space->sample(random), other = shuffled(genotype, random);
      EXPECT_EQ(canonical_text(genotype), canonical_text(other));
      EXPECT_EQ(genotype_hash(genotype), genotype_hash(other));
      ASSERT_TRUE(code.encode(genotype).has_value()) << name;
      EXPECT_EQ(code.encode(genotype), code.encode(other));
      const auto back = code.decode(*code.encode(other));
      ASSERT_TRUE(back.has_value()) << name;
      EXPECT_EQ(canonical(*back), canonical(genotype));
      EXPECT_NO_THROW(space->validate(*back));
      different.insert(canonical(genotype));
      texts.insert(canonical_text(genotype));
      codes.insert(*code.encode(genotype));
      hashes.insert(genotype_hash(genotype));
    }
    EXPECT_EQ(texts.size(), different.size()) << name;
    EXPECT_EQ(codes.size(), different.size()) << name;
    EXPECT_EQ(hashes.size(), different.size()) << name;
  }
}

TEST(GenotypeCode, WhatIsNoCodeIsRefused) {
  const auto space = find_space("darts");
  const GenotypeCode code = GenotypeCode::of(*space);
  RandomStream random(4, "codes");
  const std::string good = *code.encode(space->sample(random));
  EXPECT_LE(good.size(), 64u);
  for (size_t size = 0; size < good.size(); ++size) EXPECT_FALSE(code.decode(good.substr(0, size)).has_value());
  EXPECT_FALSE(code.decode(good + '\0').has_value());
  EXPECT_FALSE(code.decode(std::string(64, '\xff')).has_value());
  Genotype strange = space->sample(random);
  strange.cells[0].nodes[0].edges[0].op = "sep_conv_7x7";
  EXPECT_FALSE(code.encode(strange).has_value());
}

// Published cells: GDAS's and others' contain `none`, PR-DARTS's take an input twice.
TEST(GenotypeCode, PublishedArchitecturesMayHaveNoneAndRepeatedInputs) {
  const auto space = find_space("darts");
  RandomStream random(5, "codes");
  Genotype genotype = space->sample(random);
  EXPECT_NO_THROW(space->validate_published(genotype));
  genotype.cells[1].nodes[2].edges[0].op = "none";
  genotype.cells[0].nodes[1].edges[0].from = genotype.cells[0].nodes[1].edges[1].from;
  EXPECT_THAT(error_of([&] { space->validate(genotype); }), HasSubstr("twice"));
  EXPECT_NO_THROW(space->validate_published(genotype));
  genotype.cells[0].nodes[1].edges[0].op = "nor_conv_3x3";
  EXPECT_THAT(error_of([&] { space->validate_published(genotype); }), HasSubstr("Expected one of none, max_pool_3x3"));
  genotype.cells[0].nodes.pop_back();
  EXPECT_THAT(error_of([&] { space->validate_published(genotype); }), HasSubstr("3 node(s)"));
}

}  // namespace
}  // namespace nascent
