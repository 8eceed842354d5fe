// Contours, heat maps, surfaces, points and bars: what gnuplot is told, and that it draws it.
#include "nascent/run/grid_plot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "nascent/core/files.h"
#include "nascent/run/picture_files.h"
#include "temporary_folder.h"

namespace nascent {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using Kind = GridPlot::Kind;

constexpr Kind kKinds[] = {Kind::contour, Kind::heat, Kind::surface};

// 0 1 2 / 1 2 3 / 2 3 100 over [-1, 1]^2.
GridPlot plot_of(Kind kind) {
  return {.kind = kind, .x = {-1, 0, 1}, .y = {-1, 0, 1}, .values = {0, 1, 2, 1, 2, 3, 2, 3, 100}};
}

// How often a drawing has what is drawn of one cell or point.
size_t count(const std::string& text, const std::string& what) {
  size_t found = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++found;
  return found;
}

TEST(GridPlot, PointsStandByThemselvesAndWithoutARing) {
  GridPlot plot = plot_of(Kind::contour);
  plot.points = {{0.5, 0.25}, {-0.5, 0}};
  EXPECT_THAT(script_of(plot).text, AllOf(HasSubstr("$points << EOD\n0.5 0.25\n-0.5 0\nEOD\n"), Not(HasSubstr("$mark")),
                                          Not(HasSubstr("with lines lw 1.2"))));
}

TEST(GridPlot, SaysEveryPointOnceInRows) {
  for (const Kind kind : kKinds) {
    EXPECT_THAT(
        script_of(plot_of(kind)).text,
        HasSubstr("$grid << EOD\n-1 -1 0\n0 -1 1\n1 -1 2\n\n-1 0 1\n0 0 2\n1 0 3\n\n-1 1 2\n0 1 3\n1 1 100\n\nEOD\n"));
  }
}

TEST(GridPlot, WithoutAScaleColoursRunOverTheValues) {
  EXPECT_THAT(script_of(plot_of(Kind::heat)).text, HasSubstr("set cbrange [0:100]\n"));
  EXPECT_THAT(script_of(plot_of(Kind::surface)).text, HasSubstr("set zrange [0:100]\n"));
}

// Two models are compared by colours that mean the same in both; what lies beyond is drawn as the scale's end. Contours
// need the values themselves, as their lines stand where they are crossed.
TEST(GridPlot, AScaleIsThatOfColoursAndHeights) {
  for (const Kind kind : kKinds) {
    GridPlot plot = plot_of(kind);
    plot.scale = PlotScale{1, 10};
    const std::string script = script_of(plot).text;
    EXPECT_THAT(script, HasSubstr("set cbrange [1:10]\n"));
    if (kind == Kind::contour) {
      EXPECT_THAT(script, AllOf(HasSubstr("\n1 1 100\n"), HasSubstr("levels incremental 2,1,10\n")));
    } else {
      EXPECT_THAT(script, AllOf(HasSubstr("\n-1 -1 1\n"), HasSubstr("\n1 1 10\n")));
    }
  }
  GridPlot surface = plot_of(Kind::surface);
  surface.scale = PlotScale{1, 10};
  EXPECT_THAT(script_of(surface).text, HasSubstr("set zrange [1:10]\n"));
}

TEST(GridPlot, WhatIsNotFiniteIsAHole) {
  for (const double hole : {double(NAN), double(INFINITY)}) {
    GridPlot plot = plot_of(Kind::heat);
    plot.values[8] = hole;
    plot.scale = PlotScale{0, 3};
    EXPECT_THAT(script_of(plot).text, AllOf(HasSubstr("\n1 1 NaN\n"), HasSubstr("set cbrange [0:3]\n")));
  }
}

TEST(GridPlot, ThePathEndsInARing) {
  GridPlot plot = plot_of(Kind::contour);
  EXPECT_THAT(script_of(plot).text,
              AllOf(HasSubstr("$path << EOD\nEOD\n$mark << EOD\n0 0\nEOD\n"), Not(HasSubstr("$path using"))));
  plot.path = {{-1, 0}, {0.5, 0.25}};
  EXPECT_THAT(script_of(plot).text, AllOf(HasSubstr("$path << EOD\n-1 0\n0.5 0.25\nEOD\n$mark << EOD\n0.5 0.25\nEOD\n"),
                                          HasSubstr("$path using 1:2 with lines")));
}

// Every point a box of its own; a hole none.
TEST(GridPlot, AHeatMapHasABoxAPoint) {
  GridPlot plot = plot_of(Kind::heat), holed = plot;
  holed.values[4] = NAN;
  const auto drawings = run_gnuplot({script_of(plot), script_of(holed)}, Drawing::page);
  if (!drawings) GTEST_SKIP() << "needs gnuplot";
  EXPECT_EQ(count(drawings->at(0), "<polygon") - count(drawings->at(1), "<polygon"), 1u);
}

TEST(GridPlot, EveryGridIsDrawnWhateverItsValues) {
  std::vector<GnuplotScript> scripts;
  for (const Kind kind : kKinds) {
    scripts.push_back(script_of(plot_of(kind)));
    for (const double value : {0.0, 7.0, double(NAN), double(INFINITY)}) {
      GridPlot plot = plot_of(kind);
      plot.values.assign(9, value);
      scripts.push_back(script_of(plot));
      plot.scale = PlotScale{0, 1};
      scripts.push_back(script_of(plot));
    }
    scripts.push_back(script_of(GridPlot{.kind = kind, .x = {0}, .y = {0}, .values = {1}}));
  }
  const auto drawings = run_gnuplot(scripts, Drawing::page);
  if (!drawings) GTEST_SKIP() << "needs gnuplot";
  EXPECT_EQ(drawings->size(), scripts.size());
  for (const std::string& drawing : *drawings) EXPECT_TRUE(drawing.starts_with("<svg")) << drawing.substr(0, 40);
}

TEST(ScatterPlot, AColourAGroupWithoutWhatIsNotFinite) {
  const ScatterPlot plot{{{"first", {{0, 1}, {NAN, 2}, {4, 5}}}, {"none", {{INFINITY, 1}}}, {"third", {{2, 3}}}}};
  const std::string script = script_of(plot).text;
  EXPECT_THAT(script, AllOf(HasSubstr("$group0 << EOD\n0 1\n4 5\nEOD\n"), HasSubstr("$group2 << EOD\n2 3\nEOD\n"),
                            Not(HasSubstr("$group1")), Not(HasSubstr("first"))));
  EXPECT_THAT(script, AllOf(HasSubstr("lc " + curve_colour(0)), HasSubstr("lc " + curve_colour(2))));
  EXPECT_THAT(script, HasSubstr("set xrange [-0.16:4.16]"));  // with room at the borders
  EXPECT_THAT(script_of(ScatterPlot{}).text, HasSubstr("plot NaN"));
}

TEST(BarPlot, AnErrorBarWhereThereIsAnError) {
  BarPlot plot{.bars = {{"a", 80, 2, 0}, {"b", 90, 0, 1}, {"c", NAN, 0, 2}}};
  const std::string script = script_of(plot).text;
  EXPECT_THAT(script, AllOf(HasSubstr("$bar0 << EOD\n1 80 2\nEOD\n"), HasSubstr("$bar1 << EOD\n2 90 0\nEOD\n"),
                            Not(HasSubstr("$bar2"))));
  EXPECT_EQ(count(script, "with boxes"), 2u);
  EXPECT_EQ(count(script, "with vectors"), 1u);
  EXPECT_THAT(script, HasSubstr("set yrange [77.04"));  // from 78 to 90, with room
  plot.from_zero = true;
  EXPECT_THAT(script_of(plot).text, HasSubstr("set yrange [0:"));
  EXPECT_THAT(script_of(BarPlot{}).text, HasSubstr("plot NaN"));
}

// A histogram's bars stand between numbers of their own.
TEST(BarPlot, TicsStandWhereTheyAreToldTo) {
  BarPlot plot{.bars = {{"", 1, 0, 0}, {"", 2, 0, 0}}};
  EXPECT_THAT(script_of(plot).text, HasSubstr("set xtics 1\n"));
  plot.tics = {{0.5, 0}, {1.5, 0.125}, {2.5, 0.25}};
  EXPECT_THAT(script_of(plot).text, HasSubstr("set xtics ('0' 0.5, '0.12' 1.5, '0.25' 2.5)\n"));
}

// Round numbers at which a contour map of 0 to 100 has about fourteen lines: a step of 6.67 and more is 10.
TEST(GridPlot, ContoursStandAtRoundNumbers) {
  EXPECT_THAT(script_of(plot_of(Kind::contour)).text, HasSubstr("levels incremental 10,10,100\n"));
  GridPlot fewer = plot_of(Kind::contour);
  fewer.levels = 1;
  EXPECT_THAT(script_of(fewer).text, HasSubstr("levels incremental 50,50,100\n"));
}

// What is drawn is there: lines of three colours and more for contours, a cell of four corners each for surfaces.
TEST(GridPlot, ContoursAndSurfacesAreDrawn) {
  GridPlot plot{.kind = Kind::contour, .x = {-2, -1, 0, 1, 2}, .y = {-2, -1, 0, 1, 2}};
  for (const double y : plot.y) {
    for (const double x : plot.x) plot.values.push_back(x * x + y * y);
  }
  GridPlot few = plot, surface = plot;
  few.levels = 3;
  surface.kind = Kind::surface;
  const auto drawings = run_gnuplot({script_of(plot), script_of(few), script_of(surface)}, Drawing::page);
  if (!drawings) GTEST_SKIP() << "needs gnuplot";
  EXPECT_GT(count(drawings->at(0), "<path"), count(drawings->at(1), "<path"));
  EXPECT_GE(count(drawings->at(2), "<polygon"), 16u);
}

TEST(DrawPicture, ALegendNamesTheColours) {
  const PicturePanel panel{"title", "x", "y", script_of(ScatterPlot{{{"a", {{0, 1}, {1, 2}}}, {"b", {{2, 3}}}}})};
  const auto picture = draw_picture({panel}, {"first & last", "second"});
  if (!picture) GTEST_SKIP() << "needs gnuplot";
  EXPECT_THAT(*picture, AllOf(HasSubstr("first &amp; last"), HasSubstr("second"), HasSubstr(">title<")));
  EXPECT_FALSE(draw_picture({}).has_value());
}

TEST(PictureFiles, AnSvgOfAllPanelsAndAPngOfEach) {
  const TemporaryFolder folder;
  const PicturePanel first{"a <title>", "alpha", "beta", script_of(plot_of(Kind::contour))};
  const PicturePanel second{"another", "", "", script_of(plot_of(Kind::heat))};
  const auto stem = folder.path() / "rate0.025";  // the dot opens no ending
  if (!write_picture(stem, std::vector{first, second})) GTEST_SKIP() << "needs gnuplot";
  EXPECT_THAT(read_file(folder.path() / "rate0.025.svg"),
              AllOf(HasSubstr("a &lt;title&gt;"), HasSubstr(">another<"), Not(HasSubstr("var(--"))));
  for (const char* name : {"rate0.025.png", "rate0.025-2.png"}) {
    EXPECT_TRUE(read_file(folder.path() / name).starts_with("\x89PNG")) << name;
  }
}

// A PNG has no page around it, so what a picture is of stands in the drawing.
TEST(PictureFiles, APngThatStandsAloneHasWords) {
  const TemporaryFolder folder;
  PicturePanel panel{"", "", "", script_of(plot_of(Kind::heat))};
  if (!write_picture(folder.path() / "plain", std::vector{panel})) GTEST_SKIP() << "needs gnuplot";
  panel.alone = panel.script;
  panel.alone.text = "set title 'norms running'\n" + panel.alone.text;
  write_picture(folder.path() / "worded", std::vector{panel});
  EXPECT_EQ(read_file(folder.path() / "plain.svg"), read_file(folder.path() / "worded.svg"));
  EXPECT_NE(read_file(folder.path() / "plain.png"), read_file(folder.path() / "worded.png"));
}

}  // namespace
}  // namespace nascent
