#include "nascent/search/one_shot/collapse.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "nascent/search/discretisation.h"

namespace nascent {
namespace {

// Every site of a cell type favours one operation.
Mixture favouring(const Space& space, const std::vector<std::string>& ops_by_type) {
  Mixture mixture;
  for (size_t c = 0; c < space.cells().size(); ++c) {
    const auto& cell = space.cells()[c];
    const auto ops = static_cast<int64_t>(space.ops().size());
    at::Tensor table = at::full({Space::sites(cell), ops}, 0.1);
    for (int64_t op = 0; op < ops; ++op) {
      if (space.ops()[static_cast<size_t>(op)] == ops_by_type[c]) table.select(1, op).fill_(0.3);
    }
    mixture[cell.type].ops = table;
    if (cell.ops_on_nodes) mixture[cell.type].edges = at::rand({static_cast<int64_t>(Space::edges(cell).size())});
  }
  return mixture;
}

std::string collapse_of(const Space& space, const Mixture& mixture) {
  return describe(collapsed_cells(space, strongest_genotype(space, mixture), mixture));
}

TEST(Collapse, NamesCellsAndOperation) {
  const auto space = find_space("darts");
  EXPECT_EQ(collapse_of(*space, favouring(*space, {"skip_connect", "sep_conv_3x3"})),
            "every edge of the normal cell is skip_connect; every edge of the reduce cell is sep_conv_3x3");
  EXPECT_EQ(collapse_of(*space, favouring(*space, {"max_pool_3x3", "max_pool_3x3"})),
            "every edge of the normal cell and the reduce cell is max_pool_3x3");
}

TEST(Collapse, OperationsOnNodes) {
  const auto space = find_space("nasbench1shot1-s1");
  EXPECT_EQ(collapse_of(*space, favouring(*space, {"maxpool3x3"})), "every node of the cell is maxpool3x3");
}

TEST(Collapse, NasBench201MayBeCutOff) {
  const auto space = find_space("nasbench201");
  EXPECT_EQ(collapse_of(*space, favouring(*space, {"none"})), "every edge of the cell is none");
}

TEST(Collapse, NotWhileOneEdgeDiffers) {
  const auto space = find_space("nasbench201");
  Mixture mixture = favouring(*space, {"skip_connect"});
  mixture["cell"].ops[4][3] = 0.5;
  EXPECT_EQ(collapse_of(*space, mixture), "");
}

// Before the first step all candidates are equal; the first of them is no choice.
TEST(Collapse, NotWhereNothingIsFavoured) {
  const auto space = find_space("nasbench201");
  Mixture mixture;
  mixture["cell"].ops = at::full({6, 5}, 0.2);
  EXPECT_EQ(collapse_of(*space, mixture), "");
  mixture = favouring(*space, {"skip_connect"});
  mixture["cell"].ops[2].fill_(0.2);
  EXPECT_EQ(collapse_of(*space, mixture), "");
}

}  // namespace
}  // namespace nascent
