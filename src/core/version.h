// The version of Nascent.
#pragma once

#include <string>

namespace nascent {

std::string version();  // "0.2.0"

}  // namespace nascent
