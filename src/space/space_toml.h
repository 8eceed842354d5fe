// Search spaces that users define in TOML; the format is described in docs/spaces.md.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "nascent/space/space.h"

namespace nascent {

// `origin` (the file's name) opens every error text.
std::shared_ptr<const Space> read_space_toml(const std::string& text, const std::string& origin);
std::shared_ptr<const Space> read_space_toml_file(const std::filesystem::path& path);

}  // namespace nascent
