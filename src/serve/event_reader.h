// Reads the events of a run as they come in, without ever writing beside them.
//
//   EventReader reader(path);
//   auto chunk = reader.after(0, 1 << 19);       // {"rows": "[1,\"step\",0,1,{...}],[2,...", last: 7000, more: true}
//   auto next = reader.after(chunk.last, 1 << 19);
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "nascent/core/options.h"

struct sqlite3;
struct sqlite3_stmt;

namespace nascent::serve {

class EventReader {
 public:
  // An Error where it is no event store, or one of a later format.
  explicit EventReader(const std::filesystem::path& path);

  // Events after an id, as JSON without the outer brackets: [id, kind, epoch, step, values], ... Ends once it is longer
  // than `bytes`.
  struct Chunk {
    std::string rows{};
    int64_t last = 0;  // id of the last event in it; the id asked for where there is none
    bool more = false;
  };
  Chunk after(int64_t id, size_t bytes) const;

  int64_t count() const;  // ids have no gaps, so that is the newest one's

  // Where the run stands: its newest event, and the values of its newest epoch where that is not long ago.
  struct Newest {
    int64_t epochs = 0, step = 0;  // begun epochs; none where architectures are judged one after another
    Json epoch_values = Json::object();
  };
  std::optional<Newest> newest() const;

  // The numbers and texts of all events but `architecture` as CSV, in pieces; "" after the last. The reader must stay.
  std::function<std::string()> csv() const;

 private:
  struct Close {
    void operator()(sqlite3* database) const;
    void operator()(sqlite3_stmt* statement) const;
  };
  using Statement = std::unique_ptr<sqlite3_stmt, Close>;

  void open(const std::string& address);
  Statement prepare(const std::string& sql) const;
  bool step(const Statement& statement) const;  // false at the end
  std::vector<std::string> csv_keys() const;

  std::filesystem::path path_;
  std::unique_ptr<int> spent_ = std::make_unique<int>(0);  // before the database, which counts in it
  std::unique_ptr<sqlite3, Close> database_;
};

}  // namespace nascent::serve
