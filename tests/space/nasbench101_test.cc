#include "nascent/space/nasbench101.h"

#include <algorithm>
#include <set>

#include "errors.h"
#include "nascent/core/random.h"
#include "nascent/space/nasbench101_graph.h"
#include "nascent/space/space.h"

namespace nascent {
namespace {

using testing::HasSubstr;

CellGenotype cell_of(const std::string& matrix_and_ops) {
  return parse_genotype(matrix_and_ops, "nasbench101").cells[0];
}

TEST(NasBench101, UniqueGraphsAsPublished) {
  const int64_t known[] = {1, 6, 84, 2441, 62010, 359082};
  int64_t sum = 0;
  for (int vertices = 2; vertices <= kMaxVertices; ++vertices) {
    const auto count = static_cast<int64_t>(NasBench101Graphs::of_size(vertices).size());
    EXPECT_EQ(count, known[vertices - 2]) << vertices << " vertices";
    sum += count;
  }
  EXPECT_EQ(sum, find_space("nasbench101")->count());
  EXPECT_EQ(sum, static_cast<int64_t>(NasBench101Graphs::instance().graphs().size()));
}

TEST(NasBench101, IndexRoundTrips) {
  const auto space = find_space("nasbench101");
  RandomStream random(0, "index");
  for (int i = 0; i < 300; ++i) {
    const auto index = static_cast<double>(random.below(423624));
    EXPECT_EQ(space->index_of(space->at(index)), index);
  }
}

// Exchanges nodes a and b = a + 1 where no edge joins them: an isomorphic cell.
CellGenotype swap_neighbours(CellGenotype cell, int a) {
  const auto renamed = [a](int state) { return state == a ? a + 1 : state == a + 1 ? a : state; };
  std::swap(cell.nodes[a - 1], cell.nodes[a]);
  for (GenotypeNode& node : cell.nodes) {
    for (GenotypeEdge& edge : node.edges) edge.from = renamed(edge.from);
    std::sort(node.edges.begin(), node.edges.end());
  }
  for (int& state : cell.output) state = renamed(state);
  std::sort(cell.output.begin(), cell.output.end());
  return cell;
}

TEST(NasBench101, HashIgnoresTheOrderOfVertices) {
  const auto space = find_space("nasbench101");
  int swaps = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    RandomStream random(seed, "isomorphism");
    const CellGenotype cell = space->sample(random).cells[0];
    for (int a = 1; a < static_cast<int>(cell.nodes.size()); ++a) {
      const auto& edges = cell.nodes[a].edges;
      if (std::any_of(edges.begin(), edges.end(), [a](const GenotypeEdge& edge) { return edge.from == a; })) continue;
      const CellGenotype swapped = swap_neighbours(cell, a);
      EXPECT_EQ(graph_hash(swapped), graph_hash(cell));
      EXPECT_EQ(space->index_of({"nasbench101", {swapped}}), space->index_of({"nasbench101", {cell}}));
      ++swaps;
    }
  }
  EXPECT_GT(swaps, 100);
}

TEST(NasBench101, HashTellsLabelsAndEdgesApart) {
  const std::string a =
      R"({"matrix": [[0,1,1,0],[0,0,1,0],[0,0,0,1],[0,0,0,0]],
      "ops": ["input", "conv1x1-bn-relu", "maxpool3x3", "output"]})";
  const std::string b =
      R"({"matrix": [[0,1,1,0],[0,0,1,0],[0,0,0,1],[0,0,0,0]],
      "ops": ["input", "maxpool3x3", "conv1x1-bn-relu", "output"]})";
  const std::string c =
      R"({"matrix": [[0,1,0,1],[0,0,1,0],[0,0,0,1],[0,0,0,0]],
      "ops": ["input", "conv1x1-bn-relu", "maxpool3x3", "output"]})";
  EXPECT_NE(graph_hash(cell_of(a)), graph_hash(cell_of(b)));
  EXPECT_NE(graph_hash(cell_of(a)), graph_hash(cell_of(c)));
}

TEST(NasBench101, PruneDropsLooseNodes) {
  const CellGenotype cell = cell_of(R"({"matrix": [[0,1,1,0,0],[0,0,0,0,1],[0,0,0,0,0],[0,0,0,0,1],[0,0,0,0,0]],
      "ops": ["input", "conv1x1-bn-relu", "maxpool3x3", "conv3x3-bn-relu", "output"]})");
  const CellGenotype pruned = prune(cell);
  ASSERT_EQ(pruned.nodes.size(), 1u);
  EXPECT_EQ(pruned.nodes[0].op, "conv1x1-bn-relu");
  EXPECT_EQ(pruned.output, std::vector<int>{1});
  EXPECT_EQ(graph_hash(cell), graph_hash(pruned));
}

TEST(NasBench101, VertexChannels) {
  // Three nodes share 128 channels as 43, 43, 42; node 1 feeds node 2 (43) and so gets 43.
  const CellGenotype cell =
      cell_of(R"({"matrix": [[0,1,1,1,0,0],[0,0,1,0,0,0],[0,0,0,0,0,1],[0,0,0,0,1,1],[0,0,0,0,0,1],[0,0,0,0,0,0]],
      "ops": ["input", "conv1x1-bn-relu", "maxpool3x3", "conv3x3-bn-relu", "conv3x3-bn-relu", "output"]})");
  EXPECT_EQ(vertex_channels(cell, 128), (std::vector<int>{43, 43, 43, 42}));
  EXPECT_THROW(vertex_channels(cell, 2), Error);
}

TEST(NasBench101, MutationsAreValidAndCanGrow) {
  const auto space = find_space("nasbench101");
  std::set<size_t> sizes;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    RandomStream random(seed, "walk");
    Genotype genotype = space->at(0);
    for (int step = 0; step < 50; ++step) {
      const Genotype child = space->mutate(genotype, random);
      EXPECT_NO_THROW(space->validate(child));
      EXPECT_NE(child, genotype);
      genotype = child;
      sizes.insert(prune(child.cells[0]).nodes.size());
    }
  }
  EXPECT_GE(sizes.size(), 4u);
}

TEST(NasBench101, ValidateSaysWhatIsWrong) {
  const auto space = find_space("nasbench101");
  const auto error = [&](auto change) {
    Genotype genotype = space->at(400000);
    change(genotype.cells[0]);
    return error_of([&] { space->validate(genotype); });
  };
  EXPECT_THAT(error([](CellGenotype& c) { c.nodes[0].op = "conv1x1"; }),
              HasSubstr("Node 1: 'conv1x1' is not an operation of NAS-Bench-101."));
  EXPECT_THAT(error([](CellGenotype& c) { c.nodes.emplace_back(); }), HasSubstr("at most 7 vertices"));
  EXPECT_THAT(error([](CellGenotype& c) { c.output = {9}; }), HasSubstr("The output takes state 9"));
  EXPECT_THAT(error([](CellGenotype& c) {
                for (GenotypeNode& node : c.nodes) node.edges.clear();
                c.output = {5};
              }),
              HasSubstr("no path leads from its input to its output"));
  EXPECT_THAT(error([](CellGenotype& c) {
                for (int n = 0; n < 5; ++n) {
                  c.nodes[n].edges.clear();
                  for (int from = 0; from <= n; ++from) c.nodes[n].edges.push_back({from});
                }
                c.output = {5};
              }),
              HasSubstr("at most 9 edges, but this one has 16"));
}

TEST(OneShot, ConvertsToNasBench101) {
  const auto target = find_space("nasbench101");
  for (const std::string name : {"nasbench1shot1-s1", "nasbench1shot1-s2", "nasbench1shot1-s3"}) {
    const auto space = find_space(name);
    int valid = 0;
    for (uint64_t seed = 0; seed < 100; ++seed) {
      RandomStream random(seed, "convert");
      const Genotype genotype = space->sample(random);
      const Genotype converted = to_nasbench101(genotype);
      EXPECT_EQ(converted.cells[0].nodes.size(), 5u);
      if (name != "nasbench1shot1-s3") {
        EXPECT_EQ(converted.cells[0].nodes[4], (GenotypeNode{.op = "conv1x1-bn-relu"}));
      }
      EXPECT_GE(target->index_of(converted), 0);
      EXPECT_EQ(graph_hash(converted.cells[0]), graph_hash(genotype.cells[0]));
      ++valid;
    }
    EXPECT_EQ(valid, 100);
  }
  EXPECT_THROW(to_nasbench101(find_genotype("darts-v2")), Error);
  EXPECT_THROW(to_nasbench101(find_genotype("nasbench201:3")), Error);
}

TEST(OneShot, EqualHashesAreEqualArchitectures) {
  const auto target = find_space("nasbench101");
  std::set<std::pair<uint64_t, double>> pairs;
  std::set<uint64_t> hashes;
  std::set<double> indices;
  find_space("nasbench1shot1-s1")->enumerate([&](const Genotype& genotype) {
    const uint64_t hash = graph_hash(genotype.cells[0]);
    const double index = target->index_of(to_nasbench101(genotype));
    hashes.insert(hash);
    indices.insert(index);
    pairs.insert({hash, index});
    return true;
  });
  EXPECT_EQ(hashes.size(), pairs.size());
  EXPECT_EQ(indices.size(), pairs.size());
}

}  // namespace
}  // namespace nascent
