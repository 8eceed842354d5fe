// The report's tables: the result in numbers, and every option with those marked that are not at their default.
#pragma once

#include <string>

#include "nascent/run/run_directory.h"

namespace nascent {

std::string result_section(const RunDirectory& run);
std::string option_section(const RunDirectory& run);

}  // namespace nascent
