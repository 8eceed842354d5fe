// How SQLite keeps its journal in a folder. A write-ahead log needs memory shared by all who use it, which file systems
// over a network do not give.
#pragma once

#include <cstdint>
#include <filesystem>

namespace nascent {

enum class JournalMode {
  write_ahead,  // a commit waits for no disk, readers see events while they are written
  rollback,     // SQLite's "delete": works everywhere, slower
};

JournalMode journal_mode_in(const std::filesystem::path& folder);
// By the type that statfs(2) tells.
JournalMode journal_mode_of(uint64_t file_system);

}  // namespace nascent
