// Where the lines of a file of checked lines stand (core/checked_lines.h), by the key that each begins with: for files
// that are too long to be read whole each time. The larger part of the index is a file beside it, mapped into memory;
// what was added since is in memory. The index holds nothing that is not in the lines: without it, or where it belongs
// to other lines, they are read again.
//
//   LineIndex index("x.scores.index");
//   index.read(MappedFile("x.scores"));
//   for (uint64_t offset : index.find("|none~0|...")) ...
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "nascent/core/hash.h"
#include "nascent/core/mapped_file.h"

namespace nascent {

class LineIndex {
 public:
  explicit LineIndex(std::filesystem::path path) : path_(std::move(path)) {}

  // Reads the index on disk where it belongs to these bytes, and the lines behind what it covers.
  void read(const MappedFile& lines);
  // A line was appended.
  void add(std::string_view key, uint64_t offset);
  // Writes an index of all whole lines, where there are enough new ones to be worth it; `lines` is the file as it is
  // now, also with what others have appended. False where nothing was written.
  bool keep(const MappedFile& lines);
  // Whether there are so many lines in memory that keep() should be called.
  bool is_long() const { return !path_.empty() && recent_.size() > kMostInMemory + entries_.size() / 8; }

  // Where lines with this key (or, hardly ever, another of the same hash) begin, in their order.
  std::vector<uint64_t> find(std::string_view key) const;
  // Lines with a wrong checksum.
  uint64_t damaged() const { return damaged_; }
  // Where the whole lines end.
  uint64_t end() const { return end_; }

  // What a line begins with, up to a tab.
  static std::string_view key_of(std::string_view body) { return body.substr(0, body.find('\t')); }

 private:
  struct Entry {
    Hash128 key;
    uint64_t offset;
    auto operator<=>(const Entry&) const = default;
  };
  struct KeyHash {
    size_t operator()(const Hash128& key) const { return key.low; }
  };
  static constexpr size_t kMostInMemory = size_t{1} << 18;

  bool load(std::string_view bytes);
  void unload();
  std::vector<Entry> scanned(const MappedFile& lines);
  void remember(const MappedFile& lines);
  bool write(std::string_view bytes, const std::vector<Entry>& all);

  std::filesystem::path path_;  // "": none could be written
  std::optional<MappedFile> file_;
  std::span<const Entry> entries_;  // on disk, ascending
  uint64_t covered_ = 0;            // bytes of the lines that the index on disk covers
  uint64_t end_ = 0, damaged_ = 0, damaged_covered_ = 0;
  std::unordered_multimap<Hash128, uint64_t, KeyHash> recent_;
};

}  // namespace nascent
