// Whole files: read with clear errors, written beside and renamed so that a reader never sees half a file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace nascent {

std::string read_file(const std::filesystem::path& path);
// Like read_file; a gzip file (by its first bytes) comes back inflated.
std::string read_maybe_gzip(const std::filesystem::path& path);
// Writes `path` by way of a temporary file beside it, flushed to disk before the rename.
void write_file(const std::filesystem::path& path, std::string_view bytes);
uint32_t crc32(std::string_view bytes);

// Where caches go: $XDG_CACHE_HOME/nascent or ~/.cache/nascent.
std::filesystem::path cache_directory();

}  // namespace nascent
