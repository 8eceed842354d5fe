// Where the files of a data set may lie, and the error when they lie nowhere.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace nascent {

// Folders to look in: `path` and its subfolders `names` if a path is given; else the subfolders `names` of
// $NASCENT_DATA, the `system_folders`, and $NASCENT_DATA itself.
std::vector<std::filesystem::path> candidate_folders(const std::string& path, const std::vector<std::string>& names,
                                                     const std::vector<std::filesystem::path>& system_folders = {});

// The first of `spellings` that is a file of `folder`.
std::optional<std::filesystem::path> file_in(const std::filesystem::path& folder,
                                             const std::vector<std::string>& spellings);

// Throws the Error for a data set found in none of the folders. `expected` names its files, `advice` tells how to get
// them.
[[noreturn]] void fail_not_found(const std::string& dataset, const std::vector<std::filesystem::path>& folders,
                                 const std::string& expected, const std::string& advice);

}  // namespace nascent
