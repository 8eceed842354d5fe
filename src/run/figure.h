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

// A panel that is drawn already.
struct DrawnPanel {
  std::string title, x, y;
  int width = 0, height = 0;
  std::string svg;  // in the page's colours
};
std::string compose_figure(const std::vector<DrawnPanel>& panels, const std::vector<std::string>& legend);
// A drawing in the page's colours, made fit to stand alone.
std::string in_light_colours(std::string svg);
// And back, without its white ground, to stand in a page that may be dark.
std::string in_page_colours(std::string svg);

// Nothing where gnuplot is missing or fails.
std::optional<std::string> draw_figure(const std::vector<FigurePanel>& panels);

}  // namespace nascent
