// The report's word on a search that has collapsed.
#pragma once

#include <string>
#include <vector>

#include "nascent/core/events.h"

namespace nascent {

// From the "collapse" events, which come at the end of every epoch in which the search leans to a cell of one
// operation; "" where there are none. `epochs`: how many epochs are done.
std::string collapse_notice(const std::vector<Event>& collapses, int64_t epochs);

}  // namespace nascent
