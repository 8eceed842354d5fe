#include "nascent/core/version.h"

#ifndef NASCENT_VERSION
#error "NASCENT_VERSION is set by CMakeLists.txt"
#endif

namespace nascent {

std::string version() { return NASCENT_VERSION; }

}  // namespace nascent
