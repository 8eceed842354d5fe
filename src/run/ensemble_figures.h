// The pictures of an ensemble, from what its run's result.json holds: for the report, and as files.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "nascent/core/options.h"
#include "nascent/run/figure.h"

namespace nascent {

struct EnsembleFigure {
  std::string name;                                 // of its files: "reliability"
  DrawnPanel panel;                                 // in the page's colours; its svg is "" where it cannot be drawn
  std::vector<std::string> legend;                  // names of what has the page's colours
  std::string csv;                                  // the numbers
  std::function<std::optional<std::string>()> png;  // without words
};

// Those that the result has the numbers for, in the order of the report. `space` names the edges of cells.
std::vector<EnsembleFigure> ensemble_pictures(const Json& result, const std::string& space);

// Each as NAME.csv and, where they can be drawn, NAME.svg and NAME.png; the members' cells as cells.svg and cells.png.
void write_ensemble_figures(const Json& result, const std::filesystem::path& folder, const std::string& space = "");

}  // namespace nascent
