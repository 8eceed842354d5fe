#include "nascent/analysis/topology.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "errors.h"
#include "nascent/analysis/topology_table.h"
#include "nascent/analysis/variants.h"
#include "nascent/core/error.h"
#include "nascent/space/cell_space.h"
#include "nascent/table/import.h"

namespace nascent {
namespace {

Topology topology(const std::string& name, const std::string& type) {
  return topology_of(find_genotype(name).cell(type));
}

TEST(Topology, PublishedCells) {
  EXPECT_EQ(topology("darts-v2", "normal"), (Topology{3.5, 3}));
  EXPECT_EQ(topology("enas", "normal"), (Topology{5, 2}));
  EXPECT_EQ(topology("nasnet", "normal"), (Topology{5, 2}));
  EXPECT_EQ(topology("amoebanet", "normal"), (Topology{4, 4}));
  EXPECT_EQ(topology("snas", "normal"), (Topology{4, 2}));
  EXPECT_EQ(topology("darts-v2", "reduce"), (Topology{2.5, 3}));
  EXPECT_EQ(topology("enas", "reduce"), (Topology{4, 4}));
  EXPECT_EQ(topology("nasnet", "reduce"), (Topology{3.5, 3}));
  EXPECT_EQ(topology("amoebanet", "reduce"), (Topology{4, 3}));
  EXPECT_EQ(topology("snas", "reduce"), (Topology{2.5, 3}));
  EXPECT_EQ(topology_title({3.5, 3}), "3.5c, 3");
}

CellChoices nodes(int count) { return dense_cell("cell", 2, count, 2); }

TEST(Topology, RangesOfAllWirings) {
  const auto range = [](int count, bool repeat) {
    const Wirings all = count_topologies(nodes(count), {.repeat = repeat});
    return std::tuple(all.total, all.narrowest(), all.widest());
  };
  EXPECT_EQ(range(4, false), std::tuple(180.0, Topology{1.5, 2}, Topology{4, 5}));
  EXPECT_EQ(range(5, false), std::tuple(2700.0, Topology{1.5, 2}, Topology{5, 6}));
  EXPECT_EQ(range(4, true), std::tuple(14400.0, Topology{1, 2}, Topology{4, 5}));
  EXPECT_EQ(range(5, true), std::tuple(518400.0, Topology{1, 2}, Topology{5, 6}));
}

TEST(Topology, OfThe180WiringsOneIsWidestAndTwelveAreLikeDarts) {
  const Wirings all = count_topologies(find_space("darts")->cell("normal"), {});
  EXPECT_EQ(all.counts.at({4, 2}), 1);
  EXPECT_EQ(all.counts.at({3.5, 3}), 12);
  EXPECT_DOUBLE_EQ(all.share({4, 2}), 1.0 / 180);
  EXPECT_DOUBLE_EQ(all.share({3.5, 3}), 13.0 / 180);
  EXPECT_DOUBLE_EQ(all.share({1, 5}), 1);
}

TEST(Topology, WithNoneEveryArchitectureCounts) {
  const auto space = find_space("nasbench201");
  const Wirings all = count_topologies(space->cell("cell"), wiring_rules(*space, space->cell("cell")));
  EXPECT_EQ(all.total, 15625);
  double disconnected = 0;
  for (const auto& [topology, count] : all.counts) disconnected += topology.depth == 0 ? count : 0;
  EXPECT_EQ(disconnected, 15625 - 15284);
}

size_t classes(int count) {
  std::set<std::string> forms;
  for_each_wiring(nodes(count), {},
                  [&](const CellGenotype& cell, double) { forms.insert(canonical_form(cell, false)); });
  return forms.size();
}

TEST(CanonicalForm, ClassesOfAllWirings) {
  EXPECT_EQ(classes(4), 79u);
  EXPECT_EQ(classes(5), 633u);
}

// The least text over every order of the nodes: slow, and beyond doubt.
std::string brute_form(const CellGenotype& cell) {
  std::vector<int> order(cell.nodes.size());
  std::iota(order.begin(), order.end(), 0);
  std::string least;
  do {
    const auto place = [&](int state) {
      return state < cell.inputs ? state : cell.inputs + order[state - cell.inputs];
    };
    std::vector<std::string> words;
    for (size_t n = 0; n < cell.nodes.size(); ++n) {
      for (const GenotypeEdge& edge : cell.nodes[n].edges) {
        words.push_back(fmt::format("{}>{}:{}", place(edge.from), place(cell.inputs + static_cast<int>(n)), edge.op));
      }
    }
    for (int state : cell.output) words.push_back(fmt::format("out{}", place(state)));
    std::sort(words.begin(), words.end());
    const std::string text = fmt::format("{}", fmt::join(words, " "));
    if (least.empty() || text < least) least = text;
  } while (std::next_permutation(order.begin(), order.end()));
  return least;
}

TEST(CanonicalForm, TellsApartWhatBruteForceTellsApart) {
  std::map<std::string, std::string> brute, fast;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    RandomStream random(seed, "canonical");
    CellGenotype cell = with_random_connections(find_genotype("amoebanet").cell("normal"), true, random);
    cell = with_random_operations(cell, {"skip_connect", "sep_conv_3x3"}, random);
    cell.nodes.pop_back();
    cell.output = {4, 5};
    const std::string slow = brute_form(cell), form = canonical_form(cell, true);
    EXPECT_EQ(brute.emplace(form, slow).first->second, slow);
    EXPECT_EQ(fast.emplace(slow, form).first->second, form);
  }
}

// Longest paths and shares of inputs by listing every path.
Topology brute_topology(const CellGenotype& cell) {
  const int states = cell.inputs + static_cast<int>(cell.nodes.size());
  std::set<int> alive;
  int depth = 0;
  const std::function<void(int, int)> walk = [&](int state, int length) {
    alive.insert(state);
    if (state < cell.inputs) {
      depth = std::max(depth, length);
      return;
    }
    for (const GenotypeEdge& edge : cell.nodes[state - cell.inputs].edges) walk(edge.from, length + 1);
  };
  for (int state : cell.output) walk(state, 1);
  double width = 0;
  for (int state = cell.inputs; state < states; ++state) {
    if (!alive.count(state)) continue;
    const auto& edges = cell.nodes[state - cell.inputs].edges;
    for (const GenotypeEdge& edge : edges)
      width += edge.from < cell.inputs ? 1.0 / static_cast<double>(edges.size()) : 0;
  }
  return {width, depth};
}

TEST(Topology, EqualsWalkingEveryPath) {
  for (uint64_t seed = 0; seed < 500; ++seed) {
    RandomStream random(seed, "topology");
    CellGenotype cell = with_random_connections(find_genotype("nasnet").cell("reduce"), true, random);
    cell.output = {static_cast<int>(2 + random.below(3)), 5};
    if (cell.output[0] == 5) cell.output.pop_back();
    EXPECT_EQ(topology_of(cell), brute_topology(cell));
  }
}

TEST(Topology, OfTheTableDepthShowsOnlyInTheEnd) {
  const char* folder = std::getenv("NASCENT_DATA");
  const auto csv = std::filesystem::path(folder ? folder : "") / "nasbench201.csv";
  if (!folder || !std::filesystem::exists(csv)) GTEST_SKIP() << "needs nasbench201.csv under NASCENT_DATA";
  const auto path = std::filesystem::temp_directory_path() / fmt::format("nascent-topology-{}.table", ::getpid());
  import_table(csv.string(), "nasbench201").write(path);
  const BenchmarkTable table(path);
  const TopologyTable topology = tabulate_topology(table, {"cifar10_valid12", "cifar10_test200"});
  EXPECT_EQ(topology.connected, 15284);
  EXPECT_NEAR(topology.correlations[0].depth, -0.01, 0.01);
  EXPECT_NEAR(topology.correlations[1].depth, 0.20, 0.01);
  EXPECT_NEAR(topology.correlations[0].width, 0.15, 0.01);
  EXPECT_NEAR(topology.correlations[1].width, 0.24, 0.01);
  const std::string text = topology_csv(table, topology, {"cifar10_test200"});
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 15626);
  std::filesystem::remove(path);
}

TEST(Topology, OfAWiringOfNoSpacePointsToCells) {
  Genotype wide = find_genotype("nasnet");
  for (CellGenotype& cell : wide.cells) cell = adapted(cell);
  const std::string error = error_of([&] { analyse_topology(wide); });
  EXPECT_THAT(error, testing::HasSubstr("Set its space to 'cells', to which it belongs."));
  EXPECT_EQ(error.find("any wiring"), error.rfind("any wiring")) << "said once: " << error;
  wide.space = "cells";
  EXPECT_EQ(analyse_topology(wide)[0].topology, (Topology{5, 2}));
  wide.space = "nasnet";
  wide.cells[0].nodes[0].edges[0].op = "nor_conv_3x3";
  EXPECT_THAT([&] { analyse_topology(wide); },
              testing::ThrowsMessage<Error>(testing::Not(testing::HasSubstr("space 'cells'"))));
}

}  // namespace
}  // namespace nascent
