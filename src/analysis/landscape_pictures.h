// Grids around models as pictures and tables in a run's folder, and the report's list of them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "nascent/analysis/landscape.h"
#include "nascent/analysis/spectrum.h"
#include "nascent/run/grid_plot.h"
#include "nascent/run/picture_section.h"

namespace nascent {

// What stands beside a grid's pictures.
struct GridScene {
  std::string file{};      // "darts-1": the pictures are darts-1-loss.svg and so on
  std::string title{};     // "darts   3.5c, 3"
  std::string subtitle{};  // "norms running": stands on every picture; the program's own words, no names
  std::string group{};     // of the report
  std::string facts{};  // ends every caption: "of darts (3.5c, 3) on 1000 test images of cifar10; norms running, ..."
};

// What the pictures of several models run over, so that they can be compared.
struct LandscapeScales {
  PlotScale loss, log_loss, accuracy;
};
LandscapeScales common_scales(const std::vector<LossGrid>& grids);

// Loss, log-loss and accuracy as contours, heat maps and surfaces. The table FILE.csv in any case; pictures only where
// gnuplot runs.
std::vector<ReportPicture> draw_landscape(const std::filesystem::path& folder, const LossGrid& grid,
                                          const GridScene& scene, const LandscapeScales& scales);

// The same of another quantity, the first number of its grids: logarithms where it spans decades.
struct QuantityScale {
  bool log = false;
  PlotScale values;
};
QuantityScale common_scale(const std::vector<LossGrid>& grids);

// Another quantity than the loss: heat map and surface of the first number. `what` begins the caption.
std::vector<ReportPicture> draw_quantity(const std::filesystem::path& folder, const LossGrid& grid,
                                         const GridScene& scene, const std::string& what, const QuantityScale& scale);

// The spectral density as a curve and a table; nothing where none was measured.
std::vector<ReportPicture> draw_density(const std::filesystem::path& folder, const SpectrumResult& found,
                                        const GridScene& scene);

}  // namespace nascent
