#include "nascent/space/space.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "errors.h"
#include "nascent/core/random.h"
#include "nascent/space/operation.h"

namespace nascent {
namespace {

using testing::HasSubstr;

std::vector<std::string> all_spaces() { return Space::Registry::instance().names(); }

// Genotypes that differ only in the order of a node's edges are the same architecture.
Genotype canonical(Genotype genotype) {
  for (CellGenotype& cell : genotype.cells) {
    for (GenotypeNode& node : cell.nodes) std::sort(node.edges.begin(), node.edges.end());
  }
  return genotype;
}

TEST(Space, CountsAsPublished) {
  EXPECT_EQ(find_space("nasbench201")->count(), 15625);
  EXPECT_EQ(find_space("nasbench101")->count(), 423624);
  EXPECT_EQ(find_space("darts-s1")->count(), std::pow(7.0, 16));
  EXPECT_DOUBLE_EQ(find_space("darts-pr")->count(), std::pow(105.0 * 231 * 406 * 630, 2));
  EXPECT_EQ(find_space("darts-s2")->count(), std::pow(2.0, 160));
  const double cell = 1 * 3 * 6 * 10 * std::pow(49.0, 4);  // pairs of 2, 3, 4, 5 inputs, two of 7 operations each
  EXPECT_EQ(find_space("darts")->count(), cell * cell);
  EXPECT_EQ(find_space("darts-nasi")->count(), cell * cell);
  EXPECT_EQ(find_space("nasbench1shot1-s1")->count(), 1 * 1 * 3 * 6 * 10 * 81);
  EXPECT_EQ(find_space("nasbench1shot1-s2")->count(), 29160);
  EXPECT_EQ(find_space("nasbench1shot1-s3")->count(), 1 * 2 * 3 * 6 * 10 * 15 * 243);
}

TEST(Space, NasnetCountsUnorderedPairs) {
  double cell = 1;
  for (int states = 2; states < 7; ++states) {
    const double pairs = states * 9;
    cell *= pairs * (pairs + 1) / 2;
  }
  EXPECT_DOUBLE_EQ(find_space("nasnet")->count(), cell * cell);
}

TEST(Space, SitesAndEdges) {
  const auto darts = find_space("darts");
  EXPECT_EQ(Space::sites(darts->cell("normal")), 14);
  EXPECT_EQ(Space::edges(darts->cell("reduce")).size(), 14u);
  EXPECT_EQ(Space::edges(darts->cell("normal"))[2].to, 3);
  EXPECT_EQ(Space::sites(find_space("darts-s1")->cell("normal")), 8);
  EXPECT_EQ(Space::sites(find_space("nasbench201")->cell("cell")), 6);
  const CellChoices one_shot = find_space("nasbench1shot1-s1")->cell("cell");
  EXPECT_EQ(Space::sites(one_shot), 4);
  EXPECT_EQ(Space::edges(one_shot).size(), 1u + 2 + 3 + 4 + 5);
  EXPECT_EQ(Space::edges(one_shot).back().to, -1);
}

TEST(Space, NoneServesOnlyTheSearchInDarts) {
  const auto darts = find_space("darts");
  EXPECT_EQ(darts->ops().size(), 8u);
  EXPECT_EQ(darts->genotype_ops().size(), 7u);
  EXPECT_EQ(find_space("nasbench201")->genotype_ops().size(), 5u);
  EXPECT_EQ(find_space("darts-nasi")->ops(), darts->genotype_ops());
}

TEST(Space, TypesByPosition) {
  const auto darts = find_space("darts");
  EXPECT_EQ(darts->type_at(2, 8, true), "reduce");
  EXPECT_EQ(darts->type_at(3, 8, false), "normal");
  EXPECT_EQ(find_space("nasbench201")->type_at(3, 15, false), "cell");
  const auto own = find_space("darts-s2");
  EXPECT_EQ(own->type_at(6, 20, true), "cell_6");
  EXPECT_THAT(error_of([&] { own->type_at(0, 8, false); }),
              HasSubstr("each of the 20 cells has an architecture of its own"));
}

TEST(Space, SamplesAreValidAndReproducible) {
  for (const std::string& name : all_spaces()) {
    const auto space = find_space(name);
    std::set<Genotype> distinct;
    for (uint64_t seed = 0; seed < 100; ++seed) {
      RandomStream random(seed, "sample"), again(seed, "sample");
      const Genotype genotype = space->sample(random);
      EXPECT_EQ(genotype.space, name);
      EXPECT_NO_THROW(space->validate(genotype)) << name;
      EXPECT_EQ(space->sample(again), genotype);
      distinct.insert(genotype);
    }
    EXPECT_GT(distinct.size(), 90u) << name;
  }
}

TEST(Space, SamplesAreUniform) {
  const auto space = find_space("nasbench201");
  std::vector<int> bins(25, 0);
  RandomStream random(1, "uniform");
  for (int i = 0; i < 25000; ++i) ++bins[static_cast<int>(space->index_of(space->sample(random))) / 625];
  double chi_square = 0;
  for (int count : bins) chi_square += (count - 1000.0) * (count - 1000.0) / 1000.0;
  EXPECT_LT(chi_square, 52);  // 24 degrees of freedom: exceeded once in a thousand
}

int differences(const Genotype& a, const Genotype& b) {
  int sum = 0;
  for (size_t c = 0; c < a.cells.size(); ++c) {
    for (size_t n = 0; n < a.cells[c].nodes.size(); ++n) sum += a.cells[c].nodes[n] != b.cells[c].nodes[n];
    if (a.cells[c].nodes == b.cells[c].nodes) sum += a.cells[c].output != b.cells[c].output;
  }
  return sum;
}

TEST(Space, MutationsAreValidNeighbours) {
  for (const std::string& name : all_spaces()) {
    if (name == "nasbench101") continue;
    const auto space = find_space(name);
    for (uint64_t seed = 0; seed < 200; ++seed) {
      RandomStream random(seed, "mutate");
      const Genotype parent = canonical(space->sample(random));
      const Genotype child = space->mutate(parent, random);
      EXPECT_NO_THROW(space->validate(child)) << name;
      EXPECT_EQ(differences(parent, canonical(child)), 1) << name << "\n" << describe(parent) << describe(child);
    }
  }
}

TEST(Space, MutationsReachEveryNasBench201Neighbour) {
  const auto space = find_space("nasbench201");
  const Genotype parent = space->at(777);
  std::set<Genotype> children;
  RandomStream random(3, "reach");
  for (int i = 0; i < 1000; ++i) children.insert(space->mutate(parent, random));
  EXPECT_EQ(children.size(), 24u);  // 6 edges, 4 other operations each
}

TEST(Space, EnumerationMatchesIndices) {
  for (const std::string name : {"nasbench201", "nasbench1shot1-s1", "nasbench1shot1-s2"}) {
    const auto space = find_space(name);
    std::set<Genotype> distinct;
    double index = 0;
    space->enumerate([&](const Genotype& genotype) {
      EXPECT_EQ(space->index_of(genotype), index++);
      distinct.insert(genotype);
      return true;
    });
    EXPECT_EQ(index, space->count());
    EXPECT_EQ(distinct.size(), space->count());
  }
}

TEST(Space, EnumerationIsLexicographicAndStopsOnRequest) {
  int visits = 0;
  std::vector<std::string> first;
  find_space("nasbench201")->enumerate([&](const Genotype& genotype) {
    first.push_back(to_text(genotype, "nasbench201"));
    return ++visits < 6;
  });
  EXPECT_EQ(visits, 6);
  EXPECT_EQ(first[0], "|none~0|+|none~0|none~1|+|none~0|none~1|none~2|");
  EXPECT_EQ(first[1], "|none~0|+|none~0|none~1|+|none~0|none~1|skip_connect~2|");
  EXPECT_EQ(first[5], "|none~0|+|none~0|none~1|+|none~0|skip_connect~1|none~2|");
}

TEST(Space, IndexRoundTripsInLargeSpaces) {
  const auto space = find_space("darts-s1");
  for (double index : {0.0, 1.0, 123456789012.0, space->count() - 1})
    EXPECT_EQ(space->index_of(space->at(index)), index);
}

TEST(Space, IndexIgnoresTheOrderOfEdges) {
  const auto space = find_space("darts-s1");
  Genotype genotype = space->at(9999999);
  std::swap(genotype.cells[0].nodes[1].edges[0], genotype.cells[0].nodes[1].edges[1]);
  EXPECT_EQ(space->index_of(genotype), 9999999);
}

TEST(Space, SpacesTooLargeToNumberSaySo) {
  EXPECT_EQ(
      error_of([] { find_space("darts")->enumerate([](const Genotype&) { return true; }); }),
      "The space 'darts' has 1.08e+18 architectures, more than the 2^53 that can be numbered. Sample from it instead.");
  EXPECT_THROW(find_space("darts-s2")->at(0), Error);
  EXPECT_THROW(find_space("nasbench201")->at(15625), Error);
  EXPECT_THROW(find_space("nasbench201")->at(-1), Error);
  EXPECT_THROW(find_space("nasbench201")->at(0.5), Error);
  EXPECT_THROW(find_space("nasbench201")->at(std::nan("")), Error);
}

TEST(Validate, SaysWhatIsWrong) {
  const auto darts = find_space("darts");
  const auto error = [&](auto change) {
    Genotype genotype = find_genotype("darts-v2");
    change(genotype);
    return error_of([&] { darts->validate(genotype); });
  };
  EXPECT_THAT(error([](Genotype& g) { g.cells[0].nodes[1].edges[0].op = "none"; }),
              HasSubstr("Cell 'normal', node 3: 'none' is not an operation of a genotype of space 'darts'."));
  EXPECT_EQ(error([](Genotype& g) { g.cells[1].nodes[0].edges[0].from = 2; }),
            "Cell 'reduce', node 2 takes state 2, but in space 'darts' it may take only 0, 1.");
  EXPECT_EQ(error([](Genotype& g) { g.cells[0].nodes[2].edges[1].from = 1; }),
            "Cell 'normal', node 4 takes state 1 twice, which space 'darts' does not allow. The space 'cells' takes "
            "any wiring.");
  EXPECT_EQ(error([](Genotype& g) { g.cells[0].nodes[3].edges.pop_back(); }),
            "Cell 'normal', node 5 has 1 edge(s), but in space 'darts' it has 2.");
  EXPECT_EQ(error([](Genotype& g) {
              g.cells[0].output = {2, 3};
            }),
            "Cell 'normal': the output is made of states 2, 3, but in space 'darts' it is made of 2, 3, 4, 5. The "
            "space 'cells' takes any wiring.");
  EXPECT_THAT(error([](Genotype& g) { g.cells[0].nodes.pop_back(); }), HasSubstr("has 2 input(s) and 3 node(s)"));
  EXPECT_THAT(error([](Genotype& g) { g.cells.pop_back(); }), HasSubstr("has 2 type(s) of cell, but this one has 1"));
  EXPECT_THAT(error([](Genotype& g) { g.cells[1].type = "reduction"; }), HasSubstr("no cell of type 'reduce'"));
  EXPECT_THAT(error([](Genotype& g) { g.cells[0].nodes[0].op = "maxpool3x3"; }),
              HasSubstr("has its operations on edges"));
}

TEST(Validate, NasnetTakesRepeatedInputsAndLooseEnds) {
  const auto nasnet = find_space("nasnet");
  Genotype genotype = find_genotype("amoebanet");
  genotype.cells[0].output = {2, 3, 4, 5, 6};
  EXPECT_THAT(error_of([&] { nasnet->validate(genotype); }),
              HasSubstr("it is made of 4, 5, 6 (the nodes that no node takes)"));
  EXPECT_NO_THROW(nasnet->validate(find_genotype("nasnet")));
}

TEST(Validate, OneShotOutputs) {
  const auto space = find_space("nasbench1shot1-s1");
  Genotype genotype = space->at(5);
  genotype.cells[0].output = {1, 1};
  EXPECT_THAT(error_of([&] { space->validate(genotype); }), HasSubstr("it is made of 2 of 0, 1, 2, 3, 4"));
}

TEST(FindSpace, UnknownNamesListTheKnown) {
  EXPECT_THAT(error_of([] { find_space("nasbench202"); }),
              HasSubstr("There is no search space 'nasbench202'. Did you mean 'nasbench201'? Known: cells, darts, "
                        "darts-nasi, darts-pr, darts-s1"));
}

}  // namespace
}  // namespace nascent
