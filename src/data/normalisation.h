// What a list of transforms makes of the values of pixels.
#pragma once

#include <string>
#include <vector>

#include "nascent/data/statistics.h"

namespace nascent {

// What `transforms` subtract from and divide the channels of pixels in 0..1 by: the numbers given with "normalise", or
// else `statistics`. One value per channel; no deviation is 0.
ChannelStatistics normalisation_of(const std::vector<std::string>& transforms, const ChannelStatistics& statistics,
                                   int channels);

}  // namespace nascent
