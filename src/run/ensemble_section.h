// The report of an ensemble: its members' cells side by side with their errors, the posterior that they were drawn from
// as heat maps, the loss by round, the figures with a reliability diagram, who disagrees with whom; from result.json.
#pragma once

#include <string>

#include "nascent/core/options.h"

namespace nascent {

// "" where the result is not of an ensemble.
std::string ensemble_section(const Json& result, const std::string& space);

}  // namespace nascent
