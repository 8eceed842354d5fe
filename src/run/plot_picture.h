// A line plot as what gnuplot draws, beside grids, points and bars (grid_plot.h).
#pragma once

#include "nascent/run/gnuplot.h"
#include "nascent/run/plot.h"

namespace nascent {

GnuplotScript script_of(const Plot& plot);

}  // namespace nascent
