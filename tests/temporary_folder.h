// An empty folder that goes away with the object.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <string>

#include "nascent/core/error.h"

namespace nascent {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "nascent-test-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) fail("No folder can be made for a test at {}.", name);
    path_ = name;
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

}  // namespace nascent
