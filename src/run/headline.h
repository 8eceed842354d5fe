// The report's opening: what ran, on what, how it ended, and the figures people ask for first.
#pragma once

#include <string>
#include <vector>

#include "nascent/core/events.h"
#include "nascent/run/run_directory.h"

namespace nascent {

std::string run_title(const RunDirectory& run);
// `epochs` are the events of that kind; `steps` were done so far.
std::string headline(const RunDirectory& run, const std::vector<Event>& epochs, int64_t steps);

}  // namespace nascent
