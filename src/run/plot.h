// Line plots for the report, drawn by gnuplot in the page's own colours so that they suit light and dark alike.
//
// gnuplot is given numbers only: names, titles and legends are the page's, so no text of a run ever reaches a script.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace nascent {

using Points = std::vector<std::pair<double, double>>;

struct Curve {
  std::string name;
  Points points;
  Points band{};    // low and high at each point, shaded; or none
  int colour = -1;  // of the page; -1: that of its place among the curves
};

struct Plot {
  std::vector<Curve> curves;
  int width = 340, height = 190;
  bool small = false;  // few tics, for a panel among many
  double top = 0;      // > 0: the vertical axis runs from 0 to here; else as the points need
  bool whole = true;   // epochs and steps run along the horizontal axis: no tic between whole numbers
};

// How many colours the page has; curves beyond begin again at the first, dashed.
constexpr int kPlotColours = 10;

// One <svg> per plot; nothing where gnuplot is missing or fails. Non-finite points are left out.
std::optional<std::vector<std::string>> draw_plots(const std::vector<Plot>& plots);

// What the pointer tells over the drawing, as an attribute of the element around it: ' data-plot="..."'. `by` is what
// runs along the horizontal axis.
std::string pointer_data(const Plot& plot, const std::string& by);

// Whether no curve ever changes: then a sentence says more than a drawing.
bool is_flat(const Plot& plot);

// The page's colour of curve `index`.
size_t colour_index(const Plot& plot, size_t index);
// Whether curve `index` is dashed, because another one has its colour.
bool is_dashed(const Plot& plot, size_t index);

// At most about `most` points, each the mean of its neighbours.
Points thinned(const Points& points, size_t most);

}  // namespace nascent
