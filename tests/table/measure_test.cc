#include "nascent/table/measure.h"

#include "table/fixtures.h"

namespace nascent {
namespace {

TEST(Measure, NamesAreReadAndWritten) {
  EXPECT_EQ(parse_measure("cifar10_valid12"),
            (Measure{.data = "cifar10", .quantity = "valid", .budget = Budget(12), .seed = kMeanOfSeeds}));
  EXPECT_EQ(parse_measure("cifar10_valid4of12_seed777"),
            (Measure{.data = "cifar10", .quantity = "valid", .budget = Budget(4, 12), .seed = 777}));
  EXPECT_EQ(parse_measure("cifar100_train_seconds200").quantity, "train_seconds");
  EXPECT_EQ(parse_measure("cifar100_train_seconds200").budget, Budget(200));
  EXPECT_EQ(parse_measure("imagenet16_params_m").budget, Budget());
  // Devices have names that end in digits.
  EXPECT_EQ(parse_measure("cifar10_latency_ms_raspi4").quantity, "latency_ms_raspi4");
  // Distances of attacks end in digits too.
  const Measure robust = parse_measure("cifar10_pgd_linf_0.1_seed777");
  EXPECT_EQ(robust.quantity, "pgd_linf_0.1");
  EXPECT_EQ(robust.budget, Budget());
  EXPECT_EQ(robust.seed, 777);
  EXPECT_TRUE(robust.is_accuracy());
  EXPECT_TRUE(parse_measure("cifar10_aa_apgd-ce_l2_2").is_accuracy());
  EXPECT_FALSE(parse_measure("cifar10_params_m").is_accuracy());
  for (const std::string name : {"cifar10_valid12", "x_valid4of12_seed7", "x_params_m", "x_latency_ms_pixel3",
                                 "x_fgsm_linf_0.5", "x_square_l2_1.0_seed1"}) {
    EXPECT_EQ(parse_measure(name).name(), name);
  }
}

TEST(Measure, WhatNamesNothingIsRefused) {
  for (const std::string name :
       {"valid12", "_valid12", "cifar10_", "cifar10_12", "cifar10_valid", "cifar10_valid0", "cifar10_valid13of12",
        "cifar10_valid12_seedx", "cifar10_valid12_seed", "cifar10_valid99999999999"}) {
    EXPECT_THAT(error_of([&] { parse_measure(name); }), testing::HasSubstr("'" + name + "'")) << name;
  }
}

TEST(Budget, OrderIsByScheduleThenEpochs) {
  EXPECT_LT(Budget(4, 12), Budget(12));
  EXPECT_LT(Budget(12), Budget(1, 200));
  EXPECT_EQ(parse_budget("12"), Budget(12));
  EXPECT_EQ(parse_budget("4of12"), Budget(4, 12));
  EXPECT_THAT(error_of([] { parse_budget("4/12"); }), testing::HasSubstr("4of12"));
  EXPECT_THAT(error_of([] { parse_budget("-1"); }), testing::HasSubstr("'-1'"));
}

}  // namespace
}  // namespace nascent
