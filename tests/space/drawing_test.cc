#include "nascent/space/drawing.h"

#include "errors.h"
#include "nascent/space/operation.h"

namespace nascent {
namespace {

using testing::HasSubstr;

TEST(Drawing, FamiliesFollowFromStages) {
  EXPECT_EQ(operation_family("none"), "none");
  EXPECT_EQ(operation_family("skip_connect"), "skip");
  EXPECT_EQ(operation_family("avg_pool_3x3"), "pool");
  EXPECT_EQ(operation_family("sep_conv_7x7"), "separable");
  EXPECT_EQ(operation_family("dil_conv_5x5"), "dilated");
  EXPECT_EQ(operation_family("nor_conv_3x3"), "convolution");
  for (const std::string& name : Operation::Registry::instance().names()) EXPECT_NO_THROW(operation_family(name));
}

TEST(Drawing, OneClusterPerCellAndAllEdges) {
  const std::string dot = to_dot(find_genotype("darts-v2"));
  EXPECT_THAT(dot, HasSubstr("subgraph cluster_0"));
  EXPECT_THAT(dot, HasSubstr("subgraph cluster_1"));
  EXPECT_THAT(dot, HasSubstr("c0_s2 -> c0_s5 [label=\" dil_conv_3x3 \""));
  size_t arrows = 0;
  for (size_t at = dot.find("->"); at != std::string::npos; at = dot.find("->", at + 2)) ++arrows;
  EXPECT_EQ(arrows, 2u * (8 + 4));
}

TEST(Drawing, OperationsOnNodes) {
  const std::string dot = to_dot(find_genotype("nasbench101:5"));
  EXPECT_THAT(dot, HasSubstr("label=\"1: "));
}

TEST(Drawing, NamesAreEscaped) {
  Genotype genotype = find_genotype("nasbench201:9");
  genotype.space = "a\"b";
  EXPECT_THAT(to_dot(genotype), HasSubstr("digraph \"a\\\"b\""));
}

}  // namespace
}  // namespace nascent
