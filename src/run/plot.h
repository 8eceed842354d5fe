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
  Points band{};  // low and high at each point, shaded; or none
};

struct Plot {
  std::vector<Curve> curves;  // curve i has the page's colour i
  int width = 340, height = 190;
  bool small = false;  // few tics, for a panel among many
  double top = 0;      // > 0: the vertical axis runs from 0 to here; else as the points need
  bool whole = true;   // epochs and steps run along the horizontal axis: no tic between whole numbers
};

// How many colours the page has; curves beyond begin again at the first.
constexpr int kPlotColours = 10;

// One <svg> per plot; nothing where gnuplot is missing or fails. Non-finite points are left out.
std::optional<std::vector<std::string>> draw_plots(const std::vector<Plot>& plots);

// At most about `most` points, each the mean of its neighbours.
Points thinned(const Points& points, size_t most);

}  // namespace nascent
