// The runs of a folder by number, with what the table of runs shows of each.
//
// A number belongs to a path for as long as the server runs; paths never come from outside. Nothing is read before
// somebody asks, and what has not changed on disk is not read twice.
#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "nascent/run/run_directory.h"
#include "nascent/serve/exchange.h"

namespace nascent::serve {

// A file that may be given away: a regular one that lies in the folder served, links resolved.
OpenFile open_inside(const std::filesystem::path& folder, const std::filesystem::path& file);

// What changes where a file does: time, size, inode.
struct Stamp {
  int64_t seconds = 0, nanoseconds = 0, size = -1;
  uint64_t inode = 0;
  auto operator<=>(const Stamp&) const = default;
};
Stamp stamp_of(const std::filesystem::path& file);

class RunIndex {
 public:
  explicit RunIndex(std::filesystem::path folder);

  struct Entry {
    int64_t number = 0, parent = 0;  // parent: the run that this one is a part of; 0: none
    std::filesystem::path path{};
    Json summary = Json::object(), options = Json::object();  // options: "section.name" to value
    std::string state{};

    Stamp info_stamp{}, result_stamp{}, options_stamp{}, store_stamp{}, log_stamp{};
    // Read later than written, by the clock that stamps files: the stamps tell of every change.
    bool settled = false, store_settled = false;
  };

  // Every run that is there now, looked at again where the last look is older than `age`.
  const std::vector<const Entry*>& entries(std::chrono::milliseconds age = std::chrono::milliseconds(500));
  const Entry* find(int64_t number);  // null where there is none (any more)
  const std::filesystem::path& folder() const { return folder_; }
  // Grows whenever a look found something else than the one before.
  uint64_t changes() const { return changes_; }

  // True where the file lies in the folder served and is a regular one of reasonable size.
  bool readable(const std::filesystem::path& file) const;

 private:
  void refresh();
  void visit(const std::filesystem::path& path, int64_t parent, int depth);
  void update(Entry& entry);
  void read_run(Entry& entry) const;
  bool read_events(Entry& entry) const;  // whether there was anything to read

  std::filesystem::path folder_;
  std::map<std::filesystem::path, Entry> known_;
  std::map<int64_t, const Entry*> by_number_;
  std::vector<const Entry*> present_;
  int64_t next_number_ = 1;
  uint64_t changes_ = 0;
  std::chrono::steady_clock::time_point looked_{};
};

}  // namespace nascent::serve
