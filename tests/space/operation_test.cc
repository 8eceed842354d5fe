#include "nascent/space/operation.h"

#include "errors.h"

namespace nascent {
namespace {

using testing::HasSubstr;

std::vector<std::string> all_operations() { return Operation::Registry::instance().names(); }

TEST(Operation, AllNamesAreThere) {
  for (const std::string name : {"none", "skip_connect", "max_pool_3x3", "avg_pool_3x3", "sep_conv_3x3", "sep_conv_5x5",
                                 "sep_conv_7x7", "dil_conv_3x3", "dil_conv_5x5", "conv_7x1_1x7", "nor_conv_1x1",
                                 "nor_conv_3x3", "conv1x1-bn-relu", "conv3x3-bn-relu", "maxpool3x3"}) {
    EXPECT_TRUE(Operation::Registry::instance().contains(name)) << name;
  }
}

TEST(Operation, EveryOneGivesTheShapeOfItsSite) {
  for (const std::string& name : all_operations()) {
    for (int stride : {1, 2}) {
      for (int out : {6, 9}) {
        for (bool search : {false, true}) {
          const OperationSite site{.in = 6, .out = out, .stride = stride, .affine = !search, .pool_norm = search};
          const Shape shape = output_shape(operation_stages(name, site), {6, 13, 8});
          EXPECT_EQ(shape, (Shape{out, stride == 1 ? 13 : 7, stride == 1 ? 8 : 4})) << name << " stride " << stride;
        }
      }
    }
  }
}

TEST(Operation, SearchSitesHaveNoAffineBatchNorm) {
  for (const std::string& name : all_operations()) {
    for (const Stage& stage :
         operation_stages(name, {.in = 4, .out = 4, .stride = 2, .affine = false, .pool_norm = true})) {
      EXPECT_FALSE(stage.kind == StageKind::batch_norm && stage.affine) << name;
    }
  }
}

TEST(Operation, ParametersInClosedForm) {
  const int c = 12;
  const auto count = [&](const std::string& name) { return parameters(operation_stages(name, {.in = c, .out = c})); };
  EXPECT_EQ(count("none"), 0);
  EXPECT_EQ(count("skip_connect"), 0);
  EXPECT_EQ(count("max_pool_3x3"), 0);
  for (int k : {3, 5, 7})
    EXPECT_EQ(count("sep_conv_" + std::to_string(k) + "x" + std::to_string(k)), 2 * (k * k * c + c * c + 2 * c));
  for (int k : {3, 5})
    EXPECT_EQ(count("dil_conv_" + std::to_string(k) + "x" + std::to_string(k)), k * k * c + c * c + 2 * c);
  EXPECT_EQ(count("conv_7x1_1x7"), 14 * c * c + 2 * c);
  EXPECT_EQ(count("nor_conv_1x1"), c * c + 2 * c);
  EXPECT_EQ(count("nor_conv_3x3"), 9 * c * c + 2 * c);
  EXPECT_EQ(count("conv3x3-bn-relu"), 9 * c * c + 2 * c);
}

TEST(Operation, PoolsAreNormalisedOnlyInSupernets) {
  EXPECT_EQ(operation_stages("avg_pool_3x3", {.in = 4, .out = 4}).size(), 1u);
  const Stages search = operation_stages("avg_pool_3x3", {.in = 4, .out = 4, .affine = false, .pool_norm = true});
  ASSERT_EQ(search.size(), 2u);
  EXPECT_EQ(search[1], stage::batch_norm(4, false));
}

TEST(Operation, SkipConnect) {
  EXPECT_TRUE(operation_stages("skip_connect", {.in = 4, .out = 4}).empty());
  const Stages reduce = operation_stages("skip_connect", {.in = 4, .out = 4, .stride = 2});
  EXPECT_EQ(reduce, (Stages{stage::relu(4), stage::factorized_reduce(4, 4), stage::batch_norm(4)}));
}

TEST(Operation, IsParametric) {
  for (const std::string name : {"none", "skip_connect", "max_pool_3x3", "avg_pool_3x3", "maxpool3x3"})
    EXPECT_FALSE(is_parametric(name));
  for (const std::string name : {"sep_conv_3x3", "dil_conv_5x5", "conv_7x1_1x7", "nor_conv_1x1", "conv1x1-bn-relu"}) {
    EXPECT_TRUE(is_parametric(name));
  }
}

TEST(Operation, UnknownNamesListTheKnown) {
  const std::string text = error_of([] { operation_stages("sep_conv_3x4", {.in = 4, .out = 4}); });
  EXPECT_THAT(text,
              HasSubstr("There is no operation 'sep_conv_3x4'. Did you mean 'sep_conv_3x3'? Known: avg_pool_3x3, "));
}

}  // namespace
}  // namespace nascent
