#include "nascent/space/genotype.h"

#include <cstdio>
#include <filesystem>

#include "errors.h"
#include "nascent/core/files.h"
#include "nascent/space/space.h"

namespace nascent {
namespace {

using testing::HasSubstr;

TEST(ShippedGenotypes, AllBelongToTheirSpace) {
  EXPECT_THAT(known_genotypes(), testing::ElementsAre("amoebanet", "darts-v1", "darts-v2", "enas", "gaea-imagenet",
                                                      "nasnet", "pc-darts", "pc-darts-imagenet", "pr-darts", "snas"));
  for (const std::string& name : known_genotypes()) {
    const Genotype genotype = find_genotype(name);
    EXPECT_NO_THROW(find_space(genotype.space)->validate(genotype)) << name;
  }
}

TEST(ShippedGenotypes, DepthAndWidthAsPublished) {
  const auto expect = [](const std::string& name, double width, int depth) {
    const Genotype genotype = find_genotype(name);
    EXPECT_DOUBLE_EQ(cell_width(genotype.cell("normal")), width) << name;
    EXPECT_EQ(cell_depth(genotype.cell("normal")), depth) << name;
  };
  expect("darts-v2", 3.5, 3);
  expect("enas", 5, 2);
  expect("nasnet", 5, 2);
  expect("amoebanet", 4, 4);
  expect("snas", 4, 2);
}

TEST(Genotype, DepthAndWidthSkipNone) {
  const auto cell = [](const std::string& text) { return parse_genotype(text).cells[0]; };
  EXPECT_EQ(cell_depth(cell("|nor_conv_1x1~0|+|none~0|skip_connect~1|+|skip_connect~0|none~1|none~2|")), 2);
  EXPECT_EQ(cell_depth(cell("|nor_conv_1x1~0|+|none~0|skip_connect~1|+|none~0|none~1|skip_connect~2|")), 4);
  EXPECT_EQ(cell_depth(cell("|none~0|+|none~0|none~1|+|none~0|none~1|none~2|")), 0);
  EXPECT_DOUBLE_EQ(cell_width(cell("|none~0|+|none~0|none~1|+|none~0|none~1|none~2|")), 0);
}

// AmoebaNet with the connections of SNAS, as adapted in the paper (5, Fig. 25): the first two nodes lead nowhere.
TEST(Genotype, WidthSkipsNodesThatLeadNowhere) {
  CellGenotype cell = find_genotype("amoebanet").cell("normal");
  for (auto& node : cell.nodes) {
    for (size_t i = 0; i < node.edges.size(); ++i) node.edges[i].from = static_cast<int>(i);
  }
  EXPECT_DOUBLE_EQ(cell_width(cell), 3);
  EXPECT_EQ(cell_depth(cell), 2);
  const auto of = [](const std::string& text) { return cell_width(parse_genotype(text).cells[0]); };
  EXPECT_DOUBLE_EQ(of("|nor_conv_1x1~0|+|skip_connect~0|none~1|+|skip_connect~0|none~1|none~2|"), 1);
  EXPECT_DOUBLE_EQ(of("|nor_conv_1x1~0|+|skip_connect~0|none~1|+|skip_connect~0|none~1|skip_connect~2|"), 1.5);
}

TEST(Genotype, UnknownCellTypeListsThoseThereAre) {
  EXPECT_EQ(error_of([] { find_genotype("darts-v2").cell("cell"); }),
            "The genotype has no cell of type 'cell'; it has: 'normal', 'reduce'.");
}

TEST(FindGenotype, ByIndexTextAndFile) {
  const Genotype indexed = find_genotype("nasbench201:1234");
  EXPECT_EQ(find_space("nasbench201")->index_of(indexed), 1234);
  EXPECT_EQ(find_genotype(to_text(indexed, "nasbench201")), indexed);
  const std::string path =
      std::filesystem::temp_directory_path() / ("nascent_genotype_" + std::to_string(getpid()) + ".txt");
  write_file(path, "MINE = " + to_text(find_genotype("darts-v1"), "darts") + "\n");
  EXPECT_EQ(find_genotype(path), find_genotype("darts-v1"));
  write_file(path, "Genotype(normal=[");
  EXPECT_THAT(error_of([&] { find_genotype(path); }), HasSubstr(path + ": Cannot read the DARTS genotype"));
  std::remove(path.c_str());
}

TEST(FindGenotype, UnknownNamesGetASuggestion) {
  EXPECT_EQ(error_of([] { find_genotype("darts-v3"); }).substr(0, 93),
            "There is no genotype 'darts-v3', nor a file of that name. Did you mean 'darts-v1'? Known: amo");
  EXPECT_THAT(error_of([] { find_genotype("nasbench201:abc"); }), HasSubstr("expected a whole number after the colon"));
  EXPECT_THAT(error_of([] { find_genotype("nasbench201:15625"); }), HasSubstr("numbered 0 to 15624"));
  EXPECT_THAT(error_of([] { find_genotype("darts:5"); }), HasSubstr("more than the 2^53"));
}

TEST(Describe, AlignsTheCells) {
  EXPECT_EQ(describe(find_genotype("darts-v2")), R"(darts normal cell (depth 3, width 3.5c)
    2 = sep_conv_3x3(c_{k-2}) + sep_conv_3x3(c_{k-1})
    3 = sep_conv_3x3(c_{k-2}) + sep_conv_3x3(c_{k-1})
    4 = sep_conv_3x3(c_{k-1}) + skip_connect(c_{k-2})
    5 = skip_connect(c_{k-2}) + dil_conv_3x3(2)
  out = concat(2, 3, 4, 5)
darts reduce cell (depth 3, width 2.5c)
    2 = max_pool_3x3(c_{k-2}) + max_pool_3x3(c_{k-1})
    3 = skip_connect(2)       + max_pool_3x3(c_{k-1})
    4 = max_pool_3x3(c_{k-2}) + skip_connect(2)
    5 = skip_connect(2)       + max_pool_3x3(c_{k-1})
  out = concat(2, 3, 4, 5)
)");
}

TEST(Describe, OperationsOnNodes) {
  const std::string text = R"({"matrix": [[0, 1, 1, 1], [0, 0, 1, 1], [0, 0, 0, 1], [0, 0, 0, 0]],
                               "ops": ["input", "conv1x1-bn-relu", "maxpool3x3", "output"]})";
  EXPECT_EQ(describe(parse_genotype(text)), R"(nasbench101 cell (depth 3, width 1.5c)
    1 = conv1x1-bn-relu(in)
    2 = maxpool3x3(in + 1)
  out = concat(1, 2) + in
)");
}

}  // namespace
}  // namespace nascent
