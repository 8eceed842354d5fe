// A page on a data set: its classes and some of their pictures, as they are stored and as networks see them.
#pragma once

#include <string>
#include <vector>

#include "nascent/data/image_data.h"

namespace nascent {

std::string sample_page(const ImageData& data, const std::string& title);

// How many images each class has.
std::vector<int64_t> counts_by_class(const Dataset& part);
// "pad-crop 4, flip", or "none".
std::string transforms_text(const std::vector<std::string>& transforms);

}  // namespace nascent
