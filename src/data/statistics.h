// Mean and deviation of the pixels of a data set, channel by channel, for normalisation.
#pragma once

#include <vector>

#include "nascent/data/dataset.h"

namespace nascent {

// Of pixels scaled to 0..1.
struct ChannelStatistics {
  std::vector<double> mean, deviation;
};

// Over all images, exactly: sums are of integers, so neither order nor the number of threads matters. Kept in the cache
// directory under a key of the data's content; a damaged or unwritable cache is passed over.
ChannelStatistics channel_statistics(const Dataset& dataset, int workers = 1);

// Reads every image of all parts once; an Error names all that cannot be read. That all could is remembered in the
// cache directory.
void check_images(const std::vector<const Dataset*>& parts, int workers = 1);

}  // namespace nascent
