// Plots side by side with titles and a legend, as one SVG file that needs no page around it: light colours on white.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "nascent/run/plot.h"

namespace nascent {

struct FigurePanel {
  std::string title, x, y;  // what the panel shows, and what runs along its axes
  Plot plot;                // the curves of all panels have the same names in the same order
};

// Nothing where gnuplot is missing or fails.
std::optional<std::string> draw_figure(const std::vector<FigurePanel>& panels);

}  // namespace nascent
