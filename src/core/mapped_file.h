// A file mapped into memory for reading: pages are read when they are first looked at.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

#include "nascent/core/open_file.h"

namespace nascent {

class MappedFile {
 public:
  explicit MappedFile(const std::filesystem::path& path);
  // One that is open; errors call it by this name.
  MappedFile(const OpenFile& file, const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&&) = delete;

  // Gives back the memory of what was read before this byte; it may be read again.
  void forget_before(uint64_t byte) const;
  std::string_view bytes() const { return {static_cast<const char*>(start_), size_}; }

 private:
  void* start_ = nullptr;
  size_t size_ = 0;
};

}  // namespace nascent
