// A line plot as a picture by itself.
#pragma once

#include <optional>
#include <string>

#include "nascent/run/plot.h"

namespace nascent {

// A PNG file's bytes, without words, as draw_png() of other drawings; nothing where gnuplot is missing or fails.
std::optional<std::string> draw_png(const Plot& plot);

}  // namespace nascent
