// A file mapped into memory for reading: pages are read when they are first looked at.
#pragma once

#include <filesystem>
#include <string_view>

namespace nascent {

class MappedFile {
 public:
  explicit MappedFile(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&&) = delete;

  std::string_view bytes() const { return {static_cast<const char*>(start_), size_}; }

 private:
  void* start_ = nullptr;
  size_t size_ = 0;
};

}  // namespace nascent
