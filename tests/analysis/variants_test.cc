#include "nascent/analysis/variants.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "nascent/core/error.h"
#include "nascent/core/files.h"
#include "nascent/space/plan.h"
#include "nascent/space/space.h"

namespace nascent {
namespace {

using testing::HasSubstr;

Genotype adapted_genotype(const std::string& name) {
  for (const Variant& variant : make_variants(name, find_genotype(name), {.connections = 0}, 1)) {
    if (variant.kind == "adapted") return variant.genotype;
  }
  throw Error("no adapted variant");
}

TEST(Variants, AdaptedCellsAreThoseOfFigure25) {
  const auto expect = [](const std::string& name, const Topology& topology) {
    EXPECT_EQ(topology_of(adapted_genotype(name).cell("normal")), topology) << name;
  };
  expect("darts-v2", {4, 2});
  expect("enas", {5, 2});
  expect("nasnet", {5, 2});
  expect("amoebanet", {3, 2});
  expect("snas", {4, 2});
}

double millions(const Genotype& genotype, int side, int classes) {
  const NetworkOptions options{.channels = 36, .cells = 20, .auxiliary = true, .stem_stride = side / 32};
  const NetworkPlan plan = plan_network(*find_space(genotype.space), genotype, options, {3, side, side}, classes);
  return static_cast<double>(count_parameters(plan, true)) / 1e6;
}

// Table 1 of the paper, in millions: CIFAR-10, CIFAR-100 and Tiny-ImageNet, original and adapted.
TEST(Variants, ParametersWithAuxiliaryHeadAreThoseOfTable1) {
  const std::vector<std::pair<std::string, std::vector<double>>> published = {
      {"nasnet", {4.29, 4.32, 4.42, 4.45, 4.57, 4.60}}, {"amoebanet", {3.60, 3.60, 3.71, 3.71, 3.83, 3.83}},
      {"enas", {4.32, 4.32, 4.45, 4.45, 4.60, 4.60}},   {"darts-v2", {3.83, 3.90, 3.95, 4.03, 4.08, 4.16}},
      {"snas", {3.14, 3.19, 3.26, 3.31, 3.39, 3.45}},
  };
  for (const auto& [name, expected] : published) {
    const Genotype original = find_genotype(name), wide = adapted_genotype(name);
    EXPECT_NEAR(millions(original, 32, 10), expected[0], 0.0051) << name;
    EXPECT_NEAR(millions(wide, 32, 10), expected[1], 0.0051) << name;
    EXPECT_NEAR(millions(original, 32, 100), expected[2], 0.0051) << name;
    EXPECT_NEAR(millions(wide, 32, 100), expected[3], 0.0051) << name;
    EXPECT_NEAR(millions(original, 64, 200), expected[4], 0.0051) << name;
    EXPECT_NEAR(millions(wide, 64, 200), expected[5], 0.0051) << name;
  }
}

TEST(Variants, TheDeepestCellIsTheNarrowestOfItsSpace) {
  for (const std::string name : {"darts-v2", "enas"}) {
    const CellGenotype cell = deepest(find_genotype(name).cell("normal"));
    EXPECT_EQ(topology_of(cell), (Topology{1.5, static_cast<int>(cell.nodes.size()) + 1})) << name;
  }
}

TEST(Variants, KeepOperationsAndOutputsWhereConnectionsAreDrawn) {
  const Genotype base = find_genotype("amoebanet");
  const auto variants = make_variants("amoebanet", base, {.connections = 30, .adapted = false, .deepest = false}, 3);
  ASSERT_EQ(variants.size(), 31u);
  EXPECT_EQ(variants[0].kind, "original");
  EXPECT_EQ(variants[0].name, "amoebanet");
  std::set<std::string> names, forms;
  for (size_t i = 0; i < variants.size(); ++i) {
    const Genotype& genotype = variants[i].genotype;
    find_space(genotype.space)->validate(genotype);
    names.insert(variants[i].name);
    forms.insert(canonical_form(genotype.cells[0], false) + canonical_form(genotype.cells[1], false));
    for (size_t c = 0; c < 2; ++c) {
      EXPECT_EQ(genotype.cells[c].output, base.cells[c].output);
      for (size_t n = 0; n < 5; ++n) {
        for (size_t e = 0; e < 2; ++e) {
          EXPECT_EQ(genotype.cells[c].nodes[n].edges[e].op, base.cells[c].nodes[n].edges[e].op);
        }
      }
    }
    if (i > 1) {
      EXPECT_LE(variants[i - 1].topology.width, variants[i].topology.width);
    }
  }
  EXPECT_EQ(names.size(), variants.size());
  EXPECT_EQ(forms.size(), variants.size());
}

TEST(Variants, WithoutRepetitionStayInTheirSpace) {
  for (const std::string name : {"darts-v2", "nasnet"}) {
    const Genotype base = find_genotype(name);
    for (const Variant& variant :
         make_variants(name, base, {.connections = 20, .deepest = false, .repeat = false}, 3)) {
      if (variant.kind != "connections") continue;
      EXPECT_EQ(variant.genotype.space, base.space);
      for (const CellGenotype& cell : variant.genotype.cells) {
        for (const GenotypeNode& node : cell.nodes) EXPECT_NE(node.edges[0].from, node.edges[1].from);
      }
    }
  }
}

TEST(Variants, OfOperationsKeepTheWiring) {
  const Genotype base = find_genotype("enas");
  for (const Variant& variant :
       make_variants("enas", base, {.connections = 0, .operations = 10, .adapted = false, .deepest = false}, 3)) {
    EXPECT_EQ(canonical_form(variant.genotype.cells[0], false), canonical_form(base.cells[0], false));
    EXPECT_EQ(variant.genotype.space, base.space);
  }
}

TEST(Variants, SharesOfOperationsAreReplaced) {
  const VariantOptions options{
      .connections = 0, .adapted = false, .deepest = false, .fill = "sep_conv_3x3", .shares = {0, 0.375, 0.625}};
  std::vector<int> skips;
  for (const Variant& variant : make_variants("darts-v2", find_genotype("darts-v2"), options, 1)) {
    if (variant.kind != "replaced") continue;
    int count = 0;
    for (const CellGenotype& cell : variant.genotype.cells) {
      for (const GenotypeNode& node : cell.nodes) {
        for (const GenotypeEdge& edge : node.edges) {
          EXPECT_TRUE(edge.op == "skip_connect" || edge.op == "sep_conv_3x3");
          count += edge.op == "skip_connect" ? 1 : 0;
        }
      }
    }
    skips.push_back(count);
  }
  EXPECT_EQ(skips, (std::vector<int>{6, 10})) << "with a share of 0 it is the original";
}

// They were listed twice, and trained twice.
TEST(Variants, WhatIsTheOriginalIsNoVariantOfIt) {
  const Genotype wide = adapted_genotype("darts-v2");
  VariantOptions options{.connections = 0, .deepest = false, .shares = {0}};
  const auto one = make_variants("wide", wide, options, 1);
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(one[0].kind, "original");
  EXPECT_EQ(one[0].name, "wide");
  options.isomorphic = true;
  EXPECT_EQ(make_variants("wide", wide, options, 1).size(), 3u);
}

// Two nodes of one operation have three wirings without repetition, so two such cells have nine; the draws meet them
// all.
TEST(Variants, DrawnOnesAreNotTheNamedOnes) {
  const auto cell = [](const std::string& type) {
    const auto edge = [](int from) { return GenotypeEdge{from, "sep_conv_3x3"}; };
    return CellGenotype{
        .type = type, .inputs = 2, .nodes = {{{edge(0), edge(1)}}, {{edge(0), edge(2)}}}, .output = {2, 3}};
  };
  const Genotype base{.space = "cells", .cells = {cell("normal"), cell("reduce")}};
  std::map<std::string, int> kinds;
  for (const Variant& variant : make_variants("small", base, {.connections = 20, .repeat = false}, 1)) {
    ++kinds[variant.kind];
  }
  EXPECT_EQ(kinds, (std::map<std::string, int>{{"original", 1}, {"adapted", 1}, {"deepest", 1}, {"connections", 6}}));
}

TEST(Variants, IsomorphicOnesAreKeptWhereAskedFor) {
  const Genotype base = find_genotype("darts-v2");
  const auto count = [&](bool isomorphic) {
    std::set<std::string> forms;
    VariantOptions options{
        .connections = 400, .adapted = false, .deepest = false, .repeat = false, .isomorphic = isomorphic};
    const auto variants = make_variants("darts-v2", base, options, 1);
    for (const Variant& variant : variants) {
      forms.insert(canonical_form(variant.genotype.cells[0], false) + canonical_form(variant.genotype.cells[1], false));
    }
    return std::pair(variants.size(), forms.size());
  };
  EXPECT_EQ(count(false), std::pair(size_t{401}, size_t{401}));
  EXPECT_EQ(count(true).first, 401u);
  EXPECT_LT(count(true).second, 401u);
}

TEST(Variants, NeedTwoInputsAndOperationsOnEdges) {
  EXPECT_THAT([] { make_variants("x", find_genotype("nasbench201:7"), {}, 1); },
              testing::ThrowsMessage<Error>(HasSubstr("variants are made of cells with two")));
  EXPECT_THAT([] { make_variants("x", find_genotype("nasbench101:5"), {}, 1); },
              testing::ThrowsMessage<Error>(HasSubstr("in the space 'nasbench101' operations stand on nodes")));
}

TEST(Cells, TakesThePublishedAdaptedNasnet) {
  const Genotype wide = adapted_genotype("nasnet");
  EXPECT_EQ(wide.space, "cells");
  EXPECT_EQ(parse_genotype(to_text(wide, "darts")), wide);
  EXPECT_THROW(find_space("nasnet")->validate(wide), Error);
  Genotype wrong = wide;
  wrong.cells[0].output.clear();
  EXPECT_THROW(find_space("cells")->validate(wrong), Error);
  wrong = wide;
  wrong.cells[0].nodes[1].edges[0].op = "nor_conv_3x3";
  EXPECT_THROW(find_space("cells")->validate(wrong), Error);
}

}  // namespace
}  // namespace nascent
