#include "nascent/space/space_toml.h"

#include <cmath>

#include "errors.h"
#include "nascent/core/random.h"
#include "nascent/space/plan.h"

namespace nascent {
namespace {

using testing::HasSubstr;

const char* const kSmall = R"(
name = "small"
description = "three nodes, three operations"
skeleton = "darts"
ops = ["none", "skip_connect", "sep_conv_3x3"]
none-in-genotypes = false
cells = 6
channels = 12

[[cell]]
type = "normal"
inputs = 2
nodes = 3
keep = 2

[[cell]]
type = "reduce"
output = [3]

[[cell.node]]
inputs = [0, 1]
keep = 1

[[cell.node]]
inputs = [0, 2]
)";

TEST(SpaceToml, ReadsChoices) {
  const auto space = read_space_toml(kSmall, "small.toml");
  EXPECT_EQ(space->name(), "small");
  EXPECT_EQ(space->default_cells(), 6);
  EXPECT_EQ(space->default_channels(), 12);
  EXPECT_EQ(space->cell("normal").nodes[2].inputs, (std::vector<int>{0, 1, 2, 3}));
  EXPECT_EQ(space->cell("normal").output, (std::vector<int>{2, 3, 4}));
  EXPECT_EQ(space->cell("reduce").nodes[0].keep, 1);
  EXPECT_EQ(space->cell("reduce").nodes[1].keep, 2);
  const double normal = 1 * 3 * 6 * 4 * 4 * 4, reduce = 2 * 2 * 1 * 4;
  EXPECT_EQ(space->count(), normal * reduce);
}

TEST(SpaceToml, IsASpaceLikeAnyOther) {
  const auto space = read_space_toml(kSmall, "small.toml");
  for (uint64_t seed = 0; seed < 50; ++seed) {
    RandomStream random(seed, "toml");
    const Genotype genotype = space->sample(random);
    EXPECT_EQ(space->at(space->index_of(genotype)), genotype);
    EXPECT_NO_THROW(space->validate(space->mutate(genotype, random)));
    EXPECT_EQ(parse_genotype(to_text(genotype, "json")), genotype);
    EXPECT_GT(count_parameters(plan_network(*space, genotype, {}, {3, 32, 32}, 10)), 0);
  }
  EXPECT_EQ(plan_supernet(*space, {}, {3, 32, 32}, 10).cells.size(), 6u);
}

TEST(SpaceToml, OwnCellsAndNodeOperations) {
  const auto own = read_space_toml(R"(
name = "own"
ops = ["skip_connect", "sep_conv_3x3"]
own_cells = true
cells = 5
[[cell]]
nodes = 2
keep = 1
)",
                                   "own.toml");
  EXPECT_EQ(own->cells().size(), 5u);
  EXPECT_EQ(own->count(), std::pow(2 * 2 * 3 * 2, 5));
  RandomStream random(0, "own");
  EXPECT_EQ(plan_network(*own, own->sample(random), {}, {3, 32, 32}, 10).cells.size(), 5u);
  const auto nodes = read_space_toml(R"(
name = "nodes"
skeleton = "nasbench101"
ops = ["conv1x1-bn-relu", "maxpool3x3"]
[[cell]]
inputs = 1
nodes = 3
keep = 1
output = [0, 1, 2, 3]
output-keep = 2
ops-on-nodes = true
)",
                                     "nodes.toml");
  EXPECT_EQ(nodes->count(), 1 * 2 * 3 * 8 * 6);
  EXPECT_EQ(plan_supernet(*nodes, {}, {3, 32, 32}, 10).cells.size(), 11u);
}

TEST(SpaceToml, NodeOperationsInTheDartsSkeleton) {
  const auto space = read_space_toml(R"(
name = "nodes"
ops = ["sep_conv_3x3", "max_pool_3x3"]
[[cell]]
nodes = 2
ops-on-nodes = true
)",
                                     "nodes.toml");
  RandomStream random(0, "nodes");
  EXPECT_GT(count_parameters(plan_network(*space, space->sample(random), {}, {3, 32, 32}, 10)), 0);
  EXPECT_GT(count_parameters(plan_supernet(*space, {}, {3, 32, 32}, 10)), 0);
}

std::string error_with(const std::string& from, const std::string& to) {
  std::string text = kSmall;
  text.replace(text.find(from), from.size(), to);
  return error_of([&] { read_space_toml(text, "small.toml"); });
}

TEST(SpaceToml, ErrorsNameFileAndKey) {
  EXPECT_THAT(error_with("channels", "chanels"),
              HasSubstr("small.toml:8: there is no key 'chanels'. Did you mean 'channels'? Known: name"));
  EXPECT_THAT(error_with("keep = 2", "kep = 2"),
              HasSubstr("small.toml:14: there is no key 'cell.kep'. Did you mean 'keep'?"));
  EXPECT_THAT(
      error_with("\"sep_conv_3x3\"", "\"sep_conv_3x4\""),
      HasSubstr("small.toml: There is no operation 'sep_conv_3x4'. Did you mean 'sep_conv_3x3'? Known: avg_pool_3x3"));
  EXPECT_EQ(error_with("inputs = [0, 2]", "inputs = [0, 2]\nkeep = 3"),
            "small.toml: cell 'reduce', node 3: keep is 3, but the node can keep 1 to 2 of its 2 inputs.");
  EXPECT_EQ(error_with("inputs = [0, 1]", "inputs = []"),
            "small.toml: cell 'reduce', node 2: inputs: there are none to take.");
  EXPECT_EQ(error_with("inputs = 2", "inputs = 0"),
            "small.toml:12: cell.inputs: expected a whole number from 1 to 2 but found 0.");
  EXPECT_EQ(error_with("inputs = [0, 2]", "inputs = [0, 3]"),
            "small.toml:25: cell.node.inputs: expected a whole number from 0 to 2 but found 3.");
  EXPECT_EQ(error_with("nodes = 3", ""), "small.toml:10: the key 'cell.nodes' is missing.");
  EXPECT_EQ(error_with("cells = 6", "cells = \"six\""),
            "small.toml:7: cells: expected a whole number from 1 to 1000 but found a value of type string.");
  EXPECT_THAT(error_with("skeleton = \"darts\"", "skeleton = \"dart\""),
              HasSubstr("There is no skeleton 'dart'. Did you mean 'darts'?"));
  EXPECT_THAT(error_with("type = \"reduce\"", "type = \"normal\""), HasSubstr("there are two cells of type 'normal'"));
  EXPECT_THAT(error_with("output = [3]", "output = [1]"), HasSubstr("output: 1 is not one of the states 2 to 3"));
  EXPECT_THAT(error_with("name = \"small\"", "name = \"darts\""), HasSubstr("a shipped space has this name already"));
  EXPECT_THAT(error_with("name = \"small\"", "name = "), HasSubstr("small.toml:2: this is not TOML"));
}

TEST(SpaceToml, MissingParts) {
  EXPECT_EQ(error_of([] { read_space_toml("", "x.toml"); }), "x.toml:1: the key 'name' is missing.");
  EXPECT_EQ(error_of([] { read_space_toml("name = \"x\"", "x.toml"); }), "x.toml:1: the key 'ops' is missing.");
  EXPECT_EQ(error_of([] { read_space_toml("name = \"x\"\nops = [\"skip_connect\"]", "x.toml"); }),
            "x.toml: cell: a space needs at least one type of cell.");
  EXPECT_THAT(error_of([] { find_space("/no/such/space.toml"); }), HasSubstr("/no/such/space.toml"));
}

}  // namespace
}  // namespace nascent
