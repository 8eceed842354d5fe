#include "nascent/run/ensemble_section.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include "nascent/core/files.h"
#include "nascent/run/ensemble_figures.h"
#include "nascent/space/genotype.h"

namespace nascent {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

Json sample_figures() {
  Json bins = Json::array();
  for (int i = 0; i < 15; ++i)
    bins.push_back({{"images", i}, {"confidence", (i + 0.5) / 15}, {"accuracy", (i + 0.5) / 15}});
  Json figures = {{"member_errors", {7.5, 9.25}}, {"disagreements", {{0.0, 12.5}, {12.5, 0.0}}}, {"reliability", bins}};
  for (const char* key : {"error", "average_error", "disagreement", "diversity", "oracle_error", "top5_error", "loss",
                          "average_loss", "brier", "calibration_error", "entropy", "mutual_information"})
    figures[key] = 1.0;
  return figures;
}

Json sample_evaluation() {
  const Json cell = Json::parse(
      to_text(parse_genotype("|nor_conv_3x3~0|+|nor_conv_1x1~0|skip_connect~1|+|skip_connect~0|none~1|avg_pool_3x3~2|"),
              "json"));
  Json points = Json::array();
  for (int i = 0; i < 4; ++i)
    points.push_back({{"x", i}, {"y", -i}, {"architecture", 1 + i % 2}, {"trial", 1}, {"member", i + 1}});
  Json severities = Json::array();
  for (int i = 1; i <= 5; ++i)
    severities.push_back({{"severity", i}, {"error", 10.0 * i}, {"loss", 0.5 * i}, {"calibration_error", 0.01 * i}});
  return {{"kind", "evaluation"},
          {"figures", sample_figures()},
          {"cells", {cell, cell}},
          {"tsne", points},
          {"corrupted", {{"fog", severities}, {"jpeg", severities}}}};
}

TEST(EnsembleSection, ShowsMembersWithTheirErrorsAndEveryPicture) {
  const std::string markup = ensemble_section(sample_evaluation(), "nasbench201");
  EXPECT_THAT(markup, AllOf(HasSubstr("Member 1"), HasSubstr("error 7.50 %"), HasSubstr("error 9.25 %"),
                            HasSubstr("The cell of the member before it")));
  EXPECT_THAT(markup, AllOf(HasSubstr("Reliability"), HasSubstr("Disagreement"), HasSubstr("t-SNE"),
                            HasSubstr("Errors of single networks"), HasSubstr("Under corruptions")));
  EXPECT_EQ(ensemble_section({{"test_top1", 90.0}}, ""), "") << "a run of another kind";
}

TEST(EnsembleFigures, AreFilesWithTheirNumbers) {
  const auto folder = std::filesystem::temp_directory_path() / fmt::format("nascent-figures-{}", ::getpid());
  write_ensemble_figures(sample_evaluation(), folder);
  EXPECT_THAT(read_file(folder / "disagreement.csv"), HasSubstr("member 1,0,12.5"));
  EXPECT_THAT(read_file(folder / "tsne.csv"), HasSubstr("3,-3,2,1,4"));
  EXPECT_THAT(read_file(folder / "corruption-error.csv"), AllOf(HasSubstr("5,mean,50"), HasSubstr("5,fog,50")));
  EXPECT_THAT(read_file(folder / "errors.csv"), HasSubstr("9.25"));
  EXPECT_THAT(read_file(folder / "reliability.svg"), Not(HasSubstr("var(--"))) << "it stands alone";
  std::filesystem::remove_all(folder);
}

// gnuplot's points are references to definitions, which drawings for a page do without: they become circles.
TEST(EnsembleFigures, PointsOfThePlaneAreDrawn) {
  for (const EnsembleFigure& figure : ensemble_pictures(sample_evaluation(), "")) {
    if (figure.name != "tsne") continue;
    EXPECT_EQ(figure.legend.size(), 2u);
    if (figure.panel.svg.empty()) GTEST_SKIP() << "there is no gnuplot";
    EXPECT_THAT(figure.panel.svg, Not(HasSubstr("<use")));
    EXPECT_THAT(figure.panel.svg, AllOf(HasSubstr("<circle"), HasSubstr("fill='var(--c1)'")));
  }
}

}  // namespace
}  // namespace nascent
