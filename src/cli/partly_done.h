// How a verb ends that could do only part of its work: the result is printed, and exit code 3 tells.
#pragma once

#include <string>

#include "nascent/core/options.h"

namespace nascent {

// Thrown, not an Error: what could be done has been done.
struct PartlyDone {
  Json result;          // for --json
  std::string message;  // a warning that says what was left out
};

}  // namespace nascent
