// The report of a search in three stages: what each search found, and how the cells fared in training.
#pragma once

#include <string>

#include "nascent/core/options.h"

namespace nascent {

// From the run's result; "" where it has no stages.
std::string stage_section(const Json& result);

}  // namespace nascent
