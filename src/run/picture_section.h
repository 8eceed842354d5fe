// The report's pictures: what an analysis drew, with captions, gathered in groups.
//
// A run lists its pictures in pictures.json: [{"group": "3.5c", "file": "darts-v2-contour.svg", "caption": "...",
// "surface": "darts-v2.csv", "log": true}, ...]. Surfaces, where given, come first, side by side, and are turned with
// the mouse, all together; the picture stays where the browser runs no scripts.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "nascent/core/options.h"

namespace nascent {

struct ReportPicture {
  std::string group{}, file{}, caption{};
  std::string surface{};  // a grid's CSV: alpha, beta, value, ...
  bool log = false;       // the surface is that of the value's logarithm
};
void write_pictures(const std::filesystem::path& folder, const std::vector<ReportPicture>& pictures);

// "" where the folder lists none.
std::string picture_section(const std::filesystem::path& folder);

}  // namespace nascent
