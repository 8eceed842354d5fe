// How often a network is right, by how sure it is.
#pragma once

#include <string>

#include "nascent/core/options.h"

namespace nascent {

// One <svg> in the page's colours; bars that reach the diagonal are honest. `bins` are equal parts of [0, 1]:
// [{"images": 12, "confidence": 0.97, "accuracy": 0.92}, ...].
std::string reliability_svg(const Json& bins, int side);

}  // namespace nascent
