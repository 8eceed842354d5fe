// A line plot as what gnuplot draws, beside grids, points and bars (grid_plot.h), and as a table.
#pragma once

#include <string>

#include "nascent/run/gnuplot.h"
#include "nascent/run/plot.h"

namespace nascent {

GnuplotScript script_of(const Plot& plot);
// One line per point: "epoch,curve,loss,low,high", where `x` and `y` are "epoch" and "loss".
std::string curves_csv(const Plot& plot, const std::string& x, const std::string& y);

}  // namespace nascent
