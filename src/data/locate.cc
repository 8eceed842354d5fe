#include "nascent/data/locate.h"

#include <cstdlib>

#include "nascent/core/error.h"
#include "nascent/core/text.h"

namespace nascent {

namespace fs = std::filesystem;

std::vector<fs::path> candidate_folders(const std::string& path, const std::vector<std::string>& names,
                                        const std::vector<fs::path>& system_folders) {
  std::vector<fs::path> folders;
  const auto add_named = [&](const fs::path& root) {
    for (const auto& name : names) folders.push_back(root / name);
  };
  if (!path.empty()) {
    folders.emplace_back(path);
    add_named(path);
    return folders;
  }
  const char* root = std::getenv("NASCENT_DATA");
  const bool has_root = root != nullptr && *root != '\0';
  if (has_root) add_named(root);
  folders.insert(folders.end(), system_folders.begin(), system_folders.end());
  // Last, since file names alone do not tell MNIST from Fashion-MNIST.
  if (has_root) folders.emplace_back(root);
  return folders;
}

std::optional<fs::path> file_in(const fs::path& folder, const std::vector<std::string>& spellings) {
  for (const auto& spelling : spellings) {
    std::error_code ignored;
    if (fs::is_regular_file(folder / spelling, ignored)) return folder / spelling;
  }
  return std::nullopt;
}

void fail_not_found(const std::string& dataset, const std::vector<fs::path>& folders, const std::string& expected,
                    const std::string& advice) {
  std::vector<std::string> names;
  for (const auto& folder : folders) names.push_back(folder.string());
  const std::string looked =
      names.empty() ? "nowhere (no data.path is given and $NASCENT_DATA is not set)" : join(names, ", ");
  fail("The data set '{}' was not found. Looked in: {}. Expected: {}. {}", dataset, looked, expected, advice);
}

}  // namespace nascent
