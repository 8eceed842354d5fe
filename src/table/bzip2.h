// Files compressed by bzip2.
#pragma once

#include <filesystem>
#include <string>

namespace nascent {

// What the whole file inflates to. An Error where it is not bzip2, damaged or truncated.
std::string read_bzip2(const std::filesystem::path& path);

}  // namespace nascent
