// The report of several searches: in three stages, what each found and how the cells fared in training; in a
// comparison, the figures of every recipe.
#pragma once

#include <string>

#include "nascent/core/options.h"

namespace nascent {

// From the run's result; "" where it has neither.
std::string stage_section(const Json& result);

}  // namespace nascent
