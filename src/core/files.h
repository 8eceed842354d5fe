// Whole files: read with clear errors, written beside and renamed so that a reader never sees half a file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

namespace nascent {

std::string read_file(const std::filesystem::path& path);
// Like read_file; a gzip file (by its first bytes) comes back inflated. `announced` is asked, once the first bytes are
// there, how many the whole should have: what inflates to more is refused before it fills the memory. Without it, what
// inflates to more than most_inflated() is.
using AnnouncedSize = std::function<uint64_t(std::string_view start)>;
std::string read_maybe_gzip(const std::filesystem::path& path, const AnnouncedSize& announced = {});
// The most that a compressed file of so many bytes may become where it does not say how much it holds.
uint64_t most_inflated(uint64_t compressed);
// Writes `path` by way of a temporary file beside it, flushed to disk before the rename. Links are followed; what is no
// plain file (a device, a pipe) is written to as it is.
void write_file(const std::filesystem::path& path, std::string_view bytes);
// The same for a file that is too long to be in memory at once: written piece by piece, there when it is finished. What
// is not finished goes away.
class FileWriter {
 public:
  explicit FileWriter(const std::filesystem::path& path);
  ~FileWriter();
  FileWriter(const FileWriter&) = delete;
  FileWriter& operator=(const FileWriter&) = delete;

  void add(std::string_view bytes);
  void finish();

 private:
  void flush();

  std::filesystem::path path_, beside_;  // `beside_` "": written where it is
  int descriptor_ = -1;
  std::string waiting_{};
};
// The folder and those above it, where they are missing; an Error says why they cannot be made.
void make_folders(const std::filesystem::path& path);
uint32_t crc32(std::string_view bytes);

// Where caches go: $XDG_CACHE_HOME/nascent or ~/.cache/nascent.
std::filesystem::path cache_directory();

}  // namespace nascent
