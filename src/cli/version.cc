#include "nascent/cli/version.h"

#include <fmt/format.h>

#include "nascent/core/version.h"
#include "nascent/export/export_format.h"
#include "nascent/nn/threads.h"

namespace nascent {

std::string version_details() {
  use_threads(0);  // as every verb does unless told otherwise
  return fmt::format("nascent {}\n{}\nOptional libraries: {}\n", version(), describe_engine(), export_libraries());
}

}  // namespace nascent
