// The events of a run in one SQLite file; docs/event-store.md documents the table.
//
//   EventStore store(run.events_path());
//   store.emit({"epoch", 0, 100, {{"train_loss", 1.5}}});
//   for (auto [epoch, loss] : store.series("epoch", "train_loss")) ...
//
// Every event is committed as it is emitted: a process killed at any moment loses none, so whatever checkpoint a run
// goes on from, the events up to it are there. A commit appends to the write-ahead log and waits for no disk (some tens
// of microseconds); flush() waits, for what must outlive a power failure too.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "nascent/core/events.h"

struct sqlite3;
struct sqlite3_stmt;

namespace nascent {

class EventStore : public EventSink {
 public:
  enum class Access {
    write,  // made where there is none; one process at a time (the run's lock sees to that)
    read,   // any number of processes, also while one writes
  };

  explicit EventStore(std::filesystem::path path, Access access = Access::write);
  ~EventStore() override;
  EventStore(const EventStore&) = delete;
  EventStore& operator=(const EventStore&) = delete;

  void emit(const Event& event) override;
  void rewind(int64_t step) override;
  void flush() override;

  // In the order they were emitted; `kind` "" means all.
  std::vector<Event> events(const std::string& kind = "") const;
  // Kinds there are, in the order of their first event.
  std::vector<std::string> kinds() const;
  int64_t last_step() const;  // of the newest event; 0 where there is none
  // One number of every event of a kind that has it: (x, values[key]), where x is the event's step for "step" events
  // and the number of epochs done for all others.
  std::vector<std::pair<double, double>> series(const std::string& kind, const std::string& key) const;

  const std::filesystem::path& path() const { return path_; }

 private:
  void open(Access access);
  void check_format() const;
  void prepare_for_writing();
  void execute(const char* sql) const;
  void check(int code, const char* doing) const;  // an Error that names the file, unless `code` is success
  sqlite3_stmt* prepare(const char* sql) const;

  std::filesystem::path path_;
  sqlite3* database_ = nullptr;
  sqlite3_stmt* insert_ = nullptr;
};

}  // namespace nascent
