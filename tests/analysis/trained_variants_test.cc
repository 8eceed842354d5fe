// What is told and drawn of trainings of variants.
#include "nascent/analysis/trained_variants.h"

#include <gtest/gtest.h>

#include <cmath>

namespace nascent {
namespace {

TrainedVariant trained(double width, Points loss, Points top1) {
  TrainedVariant one{.base = "base", .rate = 0.1, .loss = std::move(loss), .top1 = std::move(top1)};
  one.variant.name = "variant";
  one.variant.topology.width = width;
  one.final_top1 = one.top1.back().second;
  return one;
}

TEST(TrainedVariants, EpochsToAnAccuracyAndMeanLoss) {
  const TrainedVariant one = trained(4, {{1, 3}, {2, 2}, {3, 1}}, {{1, 20}, {2, 35}, {3, 40}});
  EXPECT_EQ(one.epochs_to(20), 1);
  EXPECT_EQ(one.epochs_to(36), 3);
  EXPECT_TRUE(std::isnan(one.epochs_to(41)));
  EXPECT_DOUBLE_EQ(one.loss_area(), 2);
}

TEST(TrainedVariants, CurvesAsATable) {
  EXPECT_EQ(trained_curves_csv({trained(4, {{1, 3}, {2, 2.5}}, {{1, 20}, {2, 35}})}),
            "variant,rate,seed,epoch,loss,top1\nvariant,0.1,0,1,3,20.0000\nvariant,0.1,0,2,2.5,35.0000\n");
}

// What diverged in its first epoch has no curve; its accuracy is 0, and what is not known stays empty.
TEST(TrainedVariants, ADivergedTrainingIsInTheTableAndNoBar) {
  TrainedVariant fine = trained(4, {{1, 3}, {2, 2.5}}, {{1, 20}, {2, 35}}), worse = fine, diverged = fine;
  worse.top1.back().second = worse.final_top1 = 31, worse.seed = 1, worse.folder = "worse";
  diverged.loss = diverged.top1 = {}, diverged.final_top1 = 0, diverged.seed = 2, diverged.diverged = true;
  const std::string table = trained_csv({fine, worse, diverged}, 35);
  EXPECT_EQ(table,
            "base,variant,kind,width,depth,rate,seed,final_top1,epochs_to_accuracy,mean_loss,diverged,folder\n"
            "base,variant,,4,0,0.1,0,35.0000,2,2.75,0,\n"
            "base,variant,,4,0,0.1,1,31.0000,,2.75,0,worse\n"
            "base,variant,,4,0,0.1,2,0.0000,,,1,\n");
  EXPECT_TRUE(trained_json({diverged}, 35)[0]["mean_loss"].is_null());
  const BarPlot bars = generalisation_bars({fine, worse, diverged}, "base");
  ASSERT_EQ(bars.bars.size(), 1u);
  EXPECT_DOUBLE_EQ(bars.bars[0].value, 33);
  EXPECT_NEAR(bars.bars[0].error, std::sqrt(8), 1e-9);  // of 35 and 31
}

TEST(TrainedVariants, ACurvePerWidthTheWidestFirst) {
  const Points top1 = {{1, 10}, {2, 20}};
  const auto panels = convergence_panels(
      {trained(2, {{1, 3}, {2, 2}}, top1), trained(4, {{1, 2}, {2, 1}}, top1), trained(4, {{1, 4}, {2, 3}}, top1)},
      "base", 0.1);
  ASSERT_EQ(panels.size(), 2);
  ASSERT_EQ(panels[0].plot.curves.size(), 2);
  EXPECT_EQ(panels[0].plot.curves[0].name, "4c");
  EXPECT_EQ(panels[0].plot.curves[0].points, (Points{{1, 3}, {2, 2}})) << "the mean of two trainings";
  EXPECT_EQ(panels[0].plot.top, 0) << "all losses are drawn";
}

// The first epochs of a deep network must not press all others flat.
TEST(TrainedVariants, TheLossAxisEndsWhereMostLossesDo) {
  const Points top1 = {{1, 10}, {2, 10}, {3, 20}, {4, 30}};
  const auto panels = convergence_panels({trained(4, {{1, 120}, {2, 8}, {3, 2.5}, {4, 2}}, top1)}, "base", 0.1);
  EXPECT_DOUBLE_EQ(panels[0].plot.top, 1.5 * 2.5);
  EXPECT_EQ(panels[1].plot.top, 0);
}

}  // namespace
}  // namespace nascent
