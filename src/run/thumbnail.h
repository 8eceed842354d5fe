// Pictures as pages show them.
#pragma once

#include <string>

#include "nascent/data/image.h"

namespace nascent {

constexpr int kThumbnailSide = 112;  // the longer one, in pixels

// A picture of one or three channels as the address of a PNG that the page holds itself; no larger than it is shown.
std::string thumbnail(Image image);

}  // namespace nascent
