// Pictures as files: an SVG with its words around it, and PNGs for what takes no SVG.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "nascent/run/grid_plot.h"

namespace nascent {

// FILE.svg, the panels side by side above their legend, and each panel by itself as FILE.png, FILE-2.png, ... False,
// with a warning, where gnuplot does not run.
bool write_picture(const std::filesystem::path& file, const std::vector<PicturePanel>& panels,
                   const std::vector<std::string>& legend = {});
bool write_picture(const std::filesystem::path& file, const std::vector<FigurePanel>& panels);

}  // namespace nascent
