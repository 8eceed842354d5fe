#include "nascent/run/event_store.h"

#include <sqlite3.h>
#include <unistd.h>

#include <cctype>
#include <memory>

#include "nascent/core/error.h"
#include "nascent/core/log.h"
#include "nascent/run/journal_mode.h"

namespace nascent {
namespace {

constexpr int kFormat = 1;
constexpr const char* kSchema =
    "BEGIN IMMEDIATE;"
    "CREATE TABLE IF NOT EXISTS event ("
    "  id INTEGER PRIMARY KEY, kind TEXT NOT NULL, epoch INTEGER NOT NULL, step INTEGER NOT NULL,"
    "  \"values\" TEXT NOT NULL);"
    "PRAGMA user_version = 1;"
    "COMMIT;";

struct FinalizeStatement {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Statement = std::unique_ptr<sqlite3_stmt, FinalizeStatement>;

void bind_text(sqlite3_stmt* statement, int index, const std::string& text) {
  sqlite3_bind_text(statement, index, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT);
}

std::string text_column(sqlite3_stmt* statement, int column) {
  const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement, column));
  return std::string(bytes == nullptr ? "" : bytes, sqlite3_column_bytes(statement, column));
}

bool is_writable(const std::filesystem::path& path) {
  const auto folder = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
  return ::access(path.c_str(), W_OK) == 0 && ::access(folder.c_str(), W_OK) == 0;
}

// In a folder that one may only read, SQLite cannot keep its books: it must take the file for one that never changes.
std::string unchanging(const std::filesystem::path& path) {
  std::string address = "file:";
  for (const char c : path.string()) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '/' || c == '.' || c == '-' || c == '_';
    address += plain ? std::string(1, c) : fmt::format("%{:02x}", static_cast<unsigned char>(c));
  }
  return address + "?immutable=1";
}

}  // namespace

EventStore::EventStore(std::filesystem::path path, Access access) : path_(std::move(path)) {
  try {
    open(access);
  } catch (...) {
    sqlite3_close_v2(database_);
    throw;
  }
}

EventStore::~EventStore() {
  sqlite3_finalize(insert_);
  sqlite3_close_v2(database_);
}

void EventStore::open(Access access) {
  if (access == Access::read && !std::filesystem::exists(path_)) fail("There is no event store {}.", path_.string());
  // Readers open for writing too, which the log of a killed process needs to be read; they change no event.
  const int flags = SQLITE_OPEN_READWRITE | (access == Access::write ? SQLITE_OPEN_CREATE : 0);
  if (access == Access::read && !is_writable(path_)) {
    check(sqlite3_open_v2(unchanging(path_).c_str(), &database_, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, nullptr),
          "open");
  } else {
    check(sqlite3_open_v2(path_.c_str(), &database_, flags, nullptr), "open");
  }
  sqlite3_busy_timeout(database_, 10000);
  check_format();
  if (access == Access::write) prepare_for_writing();
}

void EventStore::check_format() const {
  const Statement version(prepare("PRAGMA user_version"));
  check(sqlite3_step(version.get()), "read");
  if (const int found = sqlite3_column_int(version.get(), 0); found > kFormat) {
    fail("{} has format {}, and this program knows formats up to {}. Use a newer nascent.", path_.string(), found,
         kFormat);
  }
}

void EventStore::prepare_for_writing() {
  // A write-ahead log where it works; SQLite answers which journal it keeps, whatever was asked for.
  const bool wanted = journal_mode_in(path_.parent_path()) == JournalMode::write_ahead;
  Statement journal(prepare(wanted ? "PRAGMA journal_mode = WAL" : "PRAGMA journal_mode = DELETE"));
  check(sqlite3_step(journal.get()), "write to");
  const bool write_ahead = text_column(journal.get(), 0) == "wal";
  journal.reset();
  if (!write_ahead) {
    log::info("{}: its file system has no shared memory, so events are kept with a rollback journal, which is slower.",
              path_.string());
  }
  execute("PRAGMA synchronous = NORMAL;");
  execute(kSchema);
  insert_ = prepare("INSERT INTO event (kind, epoch, step, \"values\") VALUES (?, ?, ?, ?)");
}

void EventStore::emit(const Event& event) {
  bind_text(insert_, 1, event.kind);
  sqlite3_bind_int64(insert_, 2, event.epoch);
  sqlite3_bind_int64(insert_, 3, event.step);
  bind_text(insert_, 4, event.values.dump(-1, ' ', false, Json::error_handler_t::replace));
  const int code = sqlite3_step(insert_);
  sqlite3_reset(insert_);
  check(code, "write to");
}

void EventStore::rewind(int64_t step) {
  // Ids are given as largest + 1, so those that follow are the ones an uninterrupted run would have given.
  const Statement remove(prepare("DELETE FROM event WHERE step > ?"));
  sqlite3_bind_int64(remove.get(), 1, step);
  check(sqlite3_step(remove.get()), "write to");
}

void EventStore::flush() {
  // While a reader is at work there may be nothing to do yet; the next flush makes up for it.
  const int code = sqlite3_wal_checkpoint_v2(database_, nullptr, SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr);
  if (code != SQLITE_BUSY) check(code, "flush");
}

std::vector<Event> EventStore::events(const std::string& kind) const {
  const Statement select(prepare(kind.empty() ? "SELECT kind, epoch, step, \"values\" FROM event ORDER BY id"
                                              : "SELECT kind, epoch, step, \"values\" FROM event WHERE kind = ? "
                                                "ORDER BY id"));
  if (!kind.empty()) bind_text(select.get(), 1, kind);
  std::vector<Event> all;
  int code = SQLITE_ROW;
  while ((code = sqlite3_step(select.get())) == SQLITE_ROW) {
    Event event{text_column(select.get(), 0), sqlite3_column_int64(select.get(), 1),
                sqlite3_column_int64(select.get(), 2), Json()};
    event.values = Json::parse(text_column(select.get(), 3), nullptr, false);
    all.push_back(std::move(event));
  }
  check(code, "read");
  return all;
}

int64_t EventStore::last_step() const {
  const Statement select(prepare("SELECT step FROM event ORDER BY id DESC LIMIT 1"));
  const int code = sqlite3_step(select.get());
  check(code, "read");
  return code == SQLITE_ROW ? sqlite3_column_int64(select.get(), 0) : 0;
}

std::vector<std::string> EventStore::kinds() const {
  const Statement select(prepare("SELECT kind FROM event GROUP BY kind ORDER BY min(id)"));
  std::vector<std::string> all;
  int code = SQLITE_ROW;
  while ((code = sqlite3_step(select.get())) == SQLITE_ROW) all.push_back(text_column(select.get(), 0));
  check(code, "read");
  return all;
}

std::vector<std::pair<double, double>> EventStore::series(const std::string& kind, const std::string& key) const {
  std::vector<std::pair<double, double>> points;
  for (const auto& event : events(kind)) {
    if (!event.values.is_object() || !event.values.contains(key) || !event.values[key].is_number()) continue;
    const int64_t x = kind == "step" ? event.step : event.epoch + 1;
    points.emplace_back(static_cast<double>(x), event.values[key].get<double>());
  }
  return points;
}

void EventStore::execute(const char* sql) const {
  check(sqlite3_exec(database_, sql, nullptr, nullptr, nullptr), "write to");
}

void EventStore::check(int code, const char* doing) const {
  if (code == SQLITE_OK || code == SQLITE_DONE || code == SQLITE_ROW) return;
  const std::string reason = database_ != nullptr ? sqlite3_errmsg(database_) : sqlite3_errstr(code);
  fail("Cannot {} the event store {}: {}.", doing, path_.string(), reason);
}

sqlite3_stmt* EventStore::prepare(const char* sql) const {
  sqlite3_stmt* statement = nullptr;
  check(sqlite3_prepare_v2(database_, sql, -1, &statement, nullptr), "read");
  return statement;
}

}  // namespace nascent
