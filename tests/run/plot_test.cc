#include "nascent/run/plot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "nascent/run/svg.h"

namespace nascent {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::Pair;

TEST(Plot, ThinningKeepsMeans) {
  EXPECT_THAT(thinned({{1, 1}, {2, 3}, {3, 5}, {4, 7}, {5, 9}}, 3),
              ElementsAre(Pair(1.5, 2), Pair(3.5, 6), Pair(5, 9)));
  EXPECT_EQ(thinned({{1, 1}}, 3).size(), 1u);
}

TEST(Plot, NamesNeverReachGnuplot) {
  const auto file = std::filesystem::temp_directory_path() / "nascent-plot-test-must-not-exist";
  const Plot plot{{{"`touch " + file.string() + "`", {{1, 2}, {2, 3}}}}};
  const auto drawings = draw_plots({plot});
  if (!drawings) GTEST_SKIP() << "needs gnuplot";
  EXPECT_FALSE(std::filesystem::exists(file));
  EXPECT_THAT((*drawings)[0], Not(HasSubstr("touch")));
}

TEST(Plot, EveryPlotIsDrawnWhateverItsPoints) {
  const std::vector<Plot> plots = {Plot{},
                                   Plot{{{"nan", {{1, NAN}, {2, INFINITY}}}}},
                                   Plot{{{"one", {{3, 4}}}}},
                                   Plot{{{"flat", {{1, 0}, {2, 0}}}}},
                                   Plot{{{"huge", {{1, 1e300}, {2, -1e300}}}}},
                                   Plot{{{"small", {{1, 0.2}, {9, 0.3}}}}, 180, 110, true, 0.5}};
  const auto drawings = draw_plots(plots);
  if (!drawings) GTEST_SKIP() << "needs gnuplot";
  EXPECT_EQ(drawings->size(), plots.size());
}

// Two corruptions of the same green could not be told apart.
TEST(Plot, CurvesOfAColourThatIsTakenAreDashed) {
  Plot plot;
  for (int i = 0; i < kPlotColours; ++i) plot.curves.push_back({"", {{1, i}, {2, i}}});
  const auto plain = draw_plots({plot});
  if (!plain) GTEST_SKIP() << "needs gnuplot";
  EXPECT_THAT(plain->front(), Not(HasSubstr("dasharray")));
  plot.curves.push_back({"", {{1, 3}, {2, 1}}});
  EXPECT_THAT(draw_plots({plot})->front(), HasSubstr("dasharray"));
}

TEST(Svg, TakesEachDrawingWithoutWhatWouldClash) {
  const auto drawings = inline_svgs(
      "<?xml version=\"1.0\"?>\n<svg a=\"1\"><title>t</title><!-- c --><g id=\"g1\" class=\"x\"><path/></g></svg>\n"
      "<?xml?>\n<svg><defs><circle id='d'/></defs><g fill=\"none\">\n</g>\n<rect/></svg>\n");
  EXPECT_THAT(drawings, ElementsAre("<svg a=\"1\"><g class=\"x\"><path/></g></svg>", "<svg><rect/></svg>"));
}

TEST(Svg, OutputWithoutDrawingsGivesNone) { EXPECT_TRUE(inline_svgs("error <svg").empty()); }

}  // namespace
}  // namespace nascent
