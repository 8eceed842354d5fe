#include "nascent/cli/version.h"

#include <fmt/format.h>

#include "nascent/nn/threads.h"

#ifndef NASCENT_VERSION
#error "NASCENT_VERSION is set by CMakeLists.txt"
#endif

namespace nascent {

std::string version() { return NASCENT_VERSION; }

std::string version_details() {
  use_threads(0);  // as every verb does unless told otherwise
  return fmt::format("nascent {}\n{}\n", version(), describe_engine());
}

}  // namespace nascent
