// Pictures of a function of two variables, known on a grid: contour lines, heat map, or a surface in perspective; and
// of numbers by themselves: points, and bars. Drawn by gnuplot, which is given numbers only.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "nascent/run/figure.h"
#include "nascent/run/gnuplot.h"

namespace nascent {

// What a picture's colours and heights run over.
struct PlotScale {
  double low = 0, high = 0;
};

struct GridPlot {
  enum class Kind { contour, heat, surface };
  Kind kind = Kind::contour;
  std::vector<double> x{}, y{};  // ascending
  std::vector<double> values{};  // values[j * x.size() + i] at (x[i], y[j]); what is not finite is a hole
  // For pictures that are compared; values beyond are drawn as its ends (contours: not at all). None: as they need.
  std::optional<PlotScale> scale{};
  int levels = 14;  // of contour lines, about: they stand at round numbers
  Points path{};    // drawn over it, point by point; the last one is marked
  Points points{};  // or these, each by itself
  int width = 360, height = 300;
};

struct ScatterPlot {
  struct Group {
    std::string name{};
    Points points{};
  };
  std::vector<Group> groups{};  // group i has the page's colour i
  int width = 340, height = 260;
};

struct BarPlot {
  struct Bar {
    std::string name{};
    double value = 0, error = 0;  // half the length of the error bar; 0: none
    size_t colour = 0;
  };
  std::vector<Bar> bars{};
  bool from_zero = false;
  Points tics{};  // what stands below: places (the first bar is at 1) and the numbers there; none: the bars' own places
  int width = 420, height = 240;
};

GnuplotScript script_of(const GridPlot& plot);
GnuplotScript script_of(const ScatterPlot& plot);
GnuplotScript script_of(const BarPlot& plot);

// A drawing with what stands around it.
struct PicturePanel {
  std::string title, x, y;
  GnuplotScript script;
  // With words inside, for a file that holds the drawing alone; they are the program's own, never names of a run.
  GnuplotScript alone{};
};
// As draw_figure(): panels side by side as one SVG file; `names` are a legend below, each in the page's colour of its
// place.
std::optional<std::string> draw_picture(const std::vector<PicturePanel>& panels,
                                        const std::vector<std::string>& names = {});
// One panel as a PNG file, without words.
std::optional<std::string> draw_png(const GnuplotScript& script);

}  // namespace nascent
