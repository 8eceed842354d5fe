#include "nascent/serve/event_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <fstream>

#include "errors.h"
#include "nascent/core/text.h"
#include "nascent/run/event_store.h"
#include "temporary_folder.h"

namespace nascent::serve {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Json rows_of(const EventReader::Chunk& chunk) { return Json::parse("[" + chunk.rows + "]"); }

void execute(const std::filesystem::path& path, const char* sql) {
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &database), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(database, sql, nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(database);
  sqlite3_close(database);
}

TEST(EventReader, ReadsWhatIsNewWhileARunWrites) {
  TemporaryFolder folder;
  EventStore store(folder / "events.sqlite");
  store.emit({"step", 0, 1, {{"loss", 1.5}}});
  const EventReader reader(folder / "events.sqlite");
  auto chunk = reader.after(0, 1000);
  EXPECT_EQ(rows_of(chunk), Json::parse(R"([[1, "step", 0, 1, {"loss": 1.5}]])"));
  EXPECT_EQ(chunk.last, 1);
  store.emit({"epoch", 0, 1, {{"valid_top1", 50}}});
  chunk = reader.after(chunk.last, 1000);
  EXPECT_EQ(rows_of(chunk), Json::parse(R"([[2, "epoch", 0, 1, {"valid_top1": 50}]])"));
  EXPECT_FALSE(chunk.more);
  EXPECT_EQ(reader.count(), 2);
  EXPECT_EQ(reader.after(2, 1000).rows, "");
  EXPECT_EQ(reader.after(2, 1000).last, 2);
}

TEST(EventReader, ChunksAreBoundedAndHoldEveryRowOnce) {
  TemporaryFolder folder;
  {
    EventStore store(folder / "events.sqlite");
    for (int i = 1; i <= 3000; ++i) store.emit({"step", 0, i, {{"loss", 1.0 / i}}});
  }
  const EventReader reader(folder / "events.sqlite");
  int64_t last = 0, seen = 0, chunks = 0;
  for (bool more = true; more; ++chunks) {
    const auto chunk = reader.after(last, 10000);
    EXPECT_LT(chunk.rows.size(), 10200u);
    for (const auto& row : rows_of(chunk)) EXPECT_EQ(row[0], ++seen);
    last = chunk.last;
    more = chunk.more;
  }
  EXPECT_EQ(seen, 3000);
  EXPECT_GT(chunks, 5);
}

TEST(EventReader, LeavesNothingBehind) {
  TemporaryFolder folder;
  { EventStore(folder / "events.sqlite").emit({"step", 0, 1, {{"loss", 1}}}); }
  { EXPECT_EQ(EventReader(folder / "events.sqlite").count(), 1); }
  size_t files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder.path())) ++files;
  EXPECT_EQ(files, 1u);
}

TEST(EventReader, ValuesThatAreNoJsonDoNotSpoilTheRest) {
  TemporaryFolder folder;
  { EventStore(folder / "events.sqlite").emit({"step", 0, 1, {{"loss", 1}}}); }
  execute(folder / "events.sqlite",
          "INSERT INTO event (kind, epoch, step, \"values\") VALUES ('a\"b', 0, 2, '{broken'), ('step', 0, 3, "
          "'{\"loss\":2}')");
  const Json rows = rows_of(EventReader(folder / "events.sqlite").after(0, 1000));
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[1], Json::parse(R"([2, "a\"b", 0, 2, null])"));
  EXPECT_EQ(rows[2][4]["loss"], 2);
}

TEST(EventReader, TellsWhereARunStands) {
  TemporaryFolder folder;
  EventStore store(folder / "events.sqlite");
  EXPECT_FALSE(EventReader(folder / "events.sqlite").newest());
  store.emit({"epoch", 3, 40, {{"valid_top1", 71.5}}});
  store.emit({"step", 4, 41, {{"loss", 1}}});
  const auto newest = EventReader(folder / "events.sqlite").newest();
  ASSERT_TRUE(newest);
  EXPECT_EQ(newest->epochs, 5);
  EXPECT_EQ(newest->step, 41);
  EXPECT_EQ(newest->epoch_values["valid_top1"], 71.5);
  store.emit({"judgement", 7, 42, {{"valid_top1", 60}}});
  EXPECT_EQ(EventReader(folder / "events.sqlite").newest()->epochs, 0) << "a judgement is no epoch";
}

TEST(EventReader, Csv) {
  TemporaryFolder folder;
  EventStore store(folder / "events.sqlite");
  store.emit({"step", 0, 1, {{"loss", 1.5}}});
  store.emit({"architecture", 0, 1, {{"genotype", "long"}}});
  store.emit({"judgement", 0, 1, {{"architecture", "a, \"b\""}, {"valid_top1", 50}}});
  const EventReader reader(folder / "events.sqlite");
  const auto next = reader.csv();
  std::string all;
  for (std::string piece = next(); !piece.empty(); piece = next()) all += piece;
  EXPECT_THAT(split(all, '\n'), ElementsAre("id,kind,epoch,step,loss,architecture,valid_top1", "1,step,0,1,1.5,,",
                                            "3,judgement,0,1,,\"a, \"\"b\"\"\",50", ""));
}

TEST(EventReader, RefusesWhatIsNoStore) {
  TemporaryFolder folder;
  std::ofstream(folder / "events.sqlite") << "no database, though long enough to look at " << std::string(200, 'x');
  EXPECT_THAT(error_of([&] { EventReader(folder / "events.sqlite").count(); }), HasSubstr("events.sqlite"));
  EXPECT_THAT(error_of([&] { EventReader(folder / "missing.sqlite").count(); }), HasSubstr("missing.sqlite"));
  execute(folder / "later.sqlite", "CREATE TABLE event (id); PRAGMA user_version = 9");
  EXPECT_THAT(error_of([&] { EventReader(folder / "later.sqlite").count(); }), HasSubstr("newer nascent"));
}

// A file may call anything `event`.
TEST(EventReader, GivesUpOnWorkWithoutEnd) {
  TemporaryFolder folder;
  execute(folder / "endless.sqlite",
          "CREATE VIEW event AS WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n) SELECT id, 'step' AS "
          "kind, "
          "0 AS epoch, 0 AS step, '{}' AS \"values\" FROM n");
  EXPECT_THAT(error_of([&] { EventReader(folder / "endless.sqlite").count(); }), HasSubstr("interrupted"));
}

}  // namespace
}  // namespace nascent::serve
