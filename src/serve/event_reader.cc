#include "nascent/serve/event_reader.h"

#include <sqlite3.h>

#include <algorithm>

#include "nascent/core/csv_field.h"
#include "nascent/core/error.h"

namespace nascent::serve {
namespace {

constexpr int kFormat = 1;
constexpr int kOperationsPerCall = 1'000'000, kMostCalls = 60;  // two seconds or so of SQLite's machine
constexpr int kLongestValues = 1'000'000;                       // characters of one event; what is longer is left out

std::string text_of(sqlite3_stmt* statement, int column) {
  const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement, column));
  return bytes == nullptr ? "" : std::string(bytes, static_cast<size_t>(sqlite3_column_bytes(statement, column)));
}

int give_up_in_the_end(void* spent) { return ++*static_cast<int*>(spent) > kMostCalls ? 1 : 0; }

// A path as SQLite's addresses write it.
std::string file_address(const std::filesystem::path& path, const char* parameters) {
  std::string address = "file:";
  for (const char c : path.string()) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '/' || c == '.' || c == '-' || c == '_';
    address += plain ? std::string(1, c) : fmt::format("%{:02x}", static_cast<unsigned char>(c));
  }
  return address + "?" + parameters;
}

}  // namespace

void EventReader::Close::operator()(sqlite3* database) const { sqlite3_close_v2(database); }
void EventReader::Close::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

EventReader::EventReader(const std::filesystem::path& path) : path_(path) {
  // Whoever writes has a log beside the store. Where there is none, nobody does, and reading leaves nothing behind.
  const bool quiet = !std::filesystem::exists(path.string() + "-wal");
  open(file_address(std::filesystem::absolute(path), quiet ? "mode=ro&immutable=1" : "mode=ro"));
  const Statement version = prepare("PRAGMA user_version");
  if (step(version) && sqlite3_column_int(version.get(), 0) > kFormat) {
    fail("{} has format {}, and this program knows formats up to {}. Use a newer nascent.", path_.string(),
         sqlite3_column_int(version.get(), 0), kFormat);
  }
}

void EventReader::open(const std::string& address) {
  sqlite3* opened = nullptr;
  const int code = sqlite3_open_v2(address.c_str(), &opened, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, nullptr);
  database_.reset(opened);
  if (code != SQLITE_OK) fail("Cannot open the event store {}: {}.", path_.string(), sqlite3_errstr(code));
  sqlite3_busy_timeout(opened, 500);
  // A file may say that `event` is anything, also something that never ends.
  sqlite3_db_config(opened, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_limit(opened, SQLITE_LIMIT_LENGTH, 64 << 20);
  *spent_ = 0;
  sqlite3_progress_handler(opened, kOperationsPerCall, give_up_in_the_end, spent_.get());
}

EventReader::Statement EventReader::prepare(const std::string& sql) const {
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(database_.get(), sql.c_str(), -1, &statement, nullptr) != SQLITE_OK) {
    fail("Cannot read the event store {}: {}.", path_.string(), sqlite3_errmsg(database_.get()));
  }
  return Statement(statement);
}

bool EventReader::step(const Statement& statement) const {
  const int code = sqlite3_step(statement.get());
  if (code != SQLITE_ROW && code != SQLITE_DONE) {
    fail("Cannot read the event store {}: {}.", path_.string(), sqlite3_errmsg(database_.get()));
  }
  return code == SQLITE_ROW;
}

EventReader::Chunk EventReader::after(int64_t id, size_t bytes) const {
  // The values are JSON already: they go out as they stand, once SQLite has found them sound.
  const Statement select = prepare(
      fmt::format("SELECT id, kind, epoch, step, CASE WHEN length(\"values\") < {} AND json_valid(\"values\") THEN "
                  "\"values\" ELSE 'null' END FROM event WHERE id > ? ORDER BY id",
                  kLongestValues));
  sqlite3_bind_int64(select.get(), 1, id);
  Chunk chunk{.last = id};
  std::string kind, quoted;
  while (step(select)) {
    if (chunk.rows.size() >= bytes) {
      chunk.more = true;
      break;
    }
    chunk.last = sqlite3_column_int64(select.get(), 0);
    if (const std::string found = text_of(select.get(), 1); quoted.empty() || found != kind) {
      kind = found;
      quoted = Json(kind).dump(-1, ' ', false, Json::error_handler_t::replace);
    }
    if (!chunk.rows.empty()) chunk.rows += ',';
    fmt::format_to(std::back_inserter(chunk.rows), "[{},{},{},{},", chunk.last, quoted,
                   sqlite3_column_int64(select.get(), 2), sqlite3_column_int64(select.get(), 3));
    chunk.rows += text_of(select.get(), 4);
    chunk.rows += ']';
  }
  return chunk;
}

int64_t EventReader::count() const {
  const Statement select = prepare("SELECT max(id) FROM event");
  return step(select) ? sqlite3_column_int64(select.get(), 0) : 0;
}

std::optional<EventReader::Newest> EventReader::newest() const {
  const Statement last = prepare(
      "SELECT CASE WHEN kind IN ('judgement', 'proposal') THEN 0 ELSE epoch + 1 END, step FROM event "
      "ORDER BY id DESC LIMIT 1");
  if (!step(last)) return std::nullopt;
  Newest newest{.epochs = sqlite3_column_int64(last.get(), 0), .step = sqlite3_column_int64(last.get(), 1)};
  // There is no index by kind; epochs that are further back than this are not worth reading all of it.
  const Statement epoch = prepare(
      "SELECT \"values\" FROM event WHERE id > (SELECT max(id) FROM event) - 2000 AND kind = 'epoch' "
      "ORDER BY id DESC LIMIT 1");
  if (step(epoch)) newest.epoch_values = Json::parse(text_of(epoch.get(), 0), nullptr, false);
  if (!newest.epoch_values.is_object()) newest.epoch_values = Json::object();
  return newest;
}

std::vector<std::string> EventReader::csv_keys() const {
  const Statement select = prepare(
      "SELECT part.key, min(event.id) FROM event, json_each(CASE WHEN json_valid(\"values\") THEN \"values\" ELSE '{}' "
      "END) AS part WHERE event.kind <> 'architecture' AND part.type IN ('integer', 'real', 'text') AND part.key IS "
      "NOT NULL GROUP BY part.key ORDER BY min(event.id), part.key LIMIT 200");
  std::vector<std::string> keys;
  while (step(select)) keys.push_back(text_of(select.get(), 0));
  return keys;
}

std::function<std::string()> EventReader::csv() const {
  const std::vector<std::string> keys = csv_keys();
  std::string header = "id,kind,epoch,step";
  for (const auto& key : keys) header += "," + csv_field(key);
  auto last = std::make_shared<int64_t>(0);
  auto next = std::make_shared<std::string>(header + "\n");
  return [this, keys, last, next]() {
    std::string piece = std::exchange(*next, "");
    const Statement select = prepare(
        "SELECT id, kind, epoch, step, CASE WHEN json_valid(\"values\") THEN \"values\" ELSE '{}' END FROM event WHERE "
        "id > ? AND kind <> 'architecture' ORDER BY id LIMIT 500");
    sqlite3_bind_int64(select.get(), 1, *last);
    while (step(select)) {
      *last = sqlite3_column_int64(select.get(), 0);
      piece += fmt::format("{},{},{},{}", *last, csv_field(text_of(select.get(), 1)),
                           sqlite3_column_int64(select.get(), 2), sqlite3_column_int64(select.get(), 3));
      const Json values = Json::parse(text_of(select.get(), 4), nullptr, false);
      for (const auto& key : keys) {
        piece += ',';
        if (!values.is_object() || !values.contains(key)) continue;
        if (values[key].is_string()) piece += csv_field(values[key].get<std::string>());
        if (values[key].is_number()) piece += values[key].dump();
      }
      piece += '\n';
    }
    return piece;
  };
}

}  // namespace nascent::serve
