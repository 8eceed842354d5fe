#include "nascent/run/figure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace nascent {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

FigurePanel panel(const std::string& title) {
  const Points rise = {{1, 2}, {2, 3}, {3, 5}}, band = {{1, 3}, {2, 4}, {4, NAN}};
  return {.title = title, .x = "cost", .y = "accuracy", .plot = {.curves = {{"a & b", rise, band}, {"c", rise}}}};
}

TEST(Figure, StandsAlone) {
  const auto svg = draw_figure({panel("first <panel>"), panel("second")});
  if (!svg) GTEST_SKIP() << "needs gnuplot";
  EXPECT_THAT(*svg, AllOf(HasSubstr("first &lt;panel&gt;"), HasSubstr(">second<"), HasSubstr(">a &amp; b<"),
                          HasSubstr("#2f6bd8"), HasSubstr("</svg>\n")));
  EXPECT_THAT(*svg, Not(HasSubstr("var(--"))) << "a colour of the page is left";
  EXPECT_TRUE(svg->starts_with("<svg"));
}

TEST(Figure, ABandIsShaded) {
  const auto with = draw_plots({panel("x").plot});
  if (!with) GTEST_SKIP() << "needs gnuplot";
  EXPECT_THAT((*with)[0], HasSubstr("fill-opacity"));
}

TEST(Figure, LongTitlesAreSmaller) {
  const auto figure = [](size_t letters) {
    return compose_figure({{std::string(letters, 'm'), "x", "y", 300, 200, "<svg></svg>"}}, {});
  };
  EXPECT_NE(figure(20).find("font-size=\"14\""), std::string::npos);
  EXPECT_NE(figure(40).find("font-size=\"11\""), std::string::npos) << "40 letters of 11 * 0.65 fit into 288";
  EXPECT_NE(figure(400).find("font-size=\"8\""), std::string::npos) << "not smaller than can be read";
}

TEST(Figure, NothingToDrawIsNothing) { EXPECT_FALSE(draw_figure({}).has_value()); }

}  // namespace
}  // namespace nascent
