#include "nascent/run/event_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "nascent/core/error.h"
#include "nascent/core/files.h"
#include "run/sample_run.h"

namespace nascent {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

// Everything an event holds, to compare runs by.
std::vector<std::string> texts(const EventStore& store) {
  std::vector<std::string> all;
  for (const auto& event : store.events()) {
    all.push_back(fmt::format("{} {} {} {}", event.kind, event.epoch, event.step, event.values.dump()));
  }
  return all;
}

std::string integrity(const std::filesystem::path& path) {
  sqlite3* database = nullptr;
  sqlite3_open(path.c_str(), &database);
  std::string answer;
  const auto keep = [](void* text, int, char** values, char**) {
    *static_cast<std::string*>(text) += values[0];
    return 0;
  };
  sqlite3_exec(database, "PRAGMA integrity_check", keep, &answer, nullptr);
  sqlite3_close(database);
  return answer;
}

// A child that never returns into the test: it must not run the parent's destructors.
pid_t start_process(const std::function<void()>& work) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  try {
    work();
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
  }
  ::_exit(1);
}

// Runs `work` in a process that then dies at once, as by kill -9.
void in_killed_process(const std::function<void()>& work) {
  const pid_t child = start_process([&] {
    work();
    ::raise(SIGKILL);
  });
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

TEST(EventStore, GivesBackWhatWasEmitted) {
  const TemporaryDirectory folder;
  EventStore store(folder / "events.sqlite");
  store.emit({"step", 0, 1, {{"loss", 0.1}, {"lr", 1e-300}}});
  store.emit({"epoch", 0, 1, {{"text", "ä <b>"}, {"nested", {{"a", {1, 2}}}}}});
  EXPECT_THAT(texts(store), ElementsAre("step 0 1 {\"loss\":0.1,\"lr\":1e-300}",
                                        "epoch 0 1 {\"text\":\"ä <b>\",\"nested\":{\"a\":[1,2]}}"));
  EXPECT_EQ(store.events("epoch").size(), 1u);
  EXPECT_THAT(store.kinds(), ElementsAre("step", "epoch"));
}

TEST(EventStore, DoublesComeBackExactly) {
  const TemporaryDirectory folder;
  EventStore store(folder / "events.sqlite");
  const double value = 0.1 + 0.2;
  store.emit({"epoch", 0, 1, {{"x", value}}});
  EXPECT_EQ(store.events()[0].values["x"].get<double>(), value);
}

TEST(EventStore, SeriesTakesTheNumbersThereAre) {
  const TemporaryDirectory folder;
  EventStore store(folder / "events.sqlite");
  store.emit({"epoch", 0, 10, {{"loss", 2.5}}});
  store.emit({"epoch", 1, 20, {{"loss", std::nan("")}}});
  store.emit({"epoch", 2, 30, {{"other", 1}}});
  store.emit({"epoch", 3, 40, {{"loss", 1}}});
  store.emit({"step", 3, 40, {{"loss", 7}}});
  EXPECT_THAT(store.series("epoch", "loss"), ElementsAre(Pair(1, 2.5), Pair(4, 1)));
  EXPECT_THAT(store.series("step", "loss"), ElementsAre(Pair(40, 7)));
}

TEST(EventStore, StaysAfterClosing) {
  const TemporaryDirectory folder;
  { EventStore(folder / "events.sqlite").emit({"step", 0, 1, {{"loss", 1}}}); }
  EventStore again(folder / "events.sqlite");
  again.emit({"step", 0, 2, {{"loss", 2}}});
  EXPECT_EQ(again.events().size(), 2u);
}

TEST(EventStore, RewindDropsWhatCameAfter) {
  const TemporaryDirectory folder;
  EventStore store(folder / "events.sqlite");
  for (int64_t step = 0; step <= 5; ++step) store.emit({"step", 0, step, {{"loss", step}}});
  store.rewind(3);
  EXPECT_THAT(store.series("step", "loss"), ElementsAre(Pair(0, 0), Pair(1, 1), Pair(2, 2), Pair(3, 3)));
}

TEST(EventStore, KilledProcessLosesNothingItEmitted) {
  const TemporaryDirectory folder;
  const auto path = folder / "events.sqlite";
  in_killed_process([&] {
    EventStore store(path);
    for (int64_t step = 1; step <= 500; ++step) store.emit({"step", 0, step, {{"loss", step}}});
  });
  EXPECT_EQ(EventStore(path).events().size(), 500u);
  EXPECT_EQ(integrity(path), "ok");
}

TEST(EventStore, ResumedRunHoldsTheEventsOfAnUninterruptedOne) {
  const TemporaryDirectory folder;
  EventStore whole(folder / "whole.sqlite");
  for (int64_t epoch = 0; epoch < 4; ++epoch) emit_sample_epoch(whole, epoch, 4, 10);
  const auto path = folder / "events.sqlite";
  in_killed_process([&] {
    EventStore store(path);
    for (int64_t epoch = 0; epoch < 3; ++epoch) emit_sample_epoch(store, epoch, 4, 10);  // the checkpoint is at 20
  });
  EventStore resumed(path);
  resumed.rewind(20);
  for (int64_t epoch = 2; epoch < 4; ++epoch) emit_sample_epoch(resumed, epoch, 4, 10);
  EXPECT_EQ(texts(resumed), texts(whole));
}

TEST(EventStore, TransactionCutShortLeavesNoTrace) {
  const TemporaryDirectory folder;
  const auto path = folder / "events.sqlite";
  { EventStore(path).emit({"step", 0, 1, {{"loss", 1}}}); }
  in_killed_process([&] {
    sqlite3* database = nullptr;
    sqlite3_open(path.c_str(), &database);
    sqlite3_exec(database, "BEGIN; DELETE FROM event; INSERT INTO event VALUES (9, 'step', 0, 9, '{}')", nullptr,
                 nullptr, nullptr);
  });
  EXPECT_THAT(texts(EventStore(path)), ElementsAre("step 0 1 {\"loss\":1}"));
  EXPECT_EQ(integrity(path), "ok");
}

// The process is killed from outside at moments it cannot choose; what it had emitted is a prefix of the whole.
TEST(EventStore, SurvivesKillsAtAnyMoment) {
  const TemporaryDirectory folder;
  const auto path = folder / "events.sqlite";
  for (int attempt = 0; attempt < 8; ++attempt) {
    const pid_t child = start_process([&] {
      EventStore store(path);
      for (int64_t step = static_cast<int64_t>(store.events().size()) + 1;; ++step) {
        store.emit({"step", 0, step, {{"loss", step}}});
        if (step % 50 == 0) store.flush();
      }
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(7 + 11 * attempt));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    EXPECT_EQ(integrity(path), "ok");
  }
  int64_t expected = 0;
  for (const auto& event : EventStore(path).events()) EXPECT_EQ(event.step, ++expected);
  EXPECT_GT(expected, 0);
}

TEST(EventStore, CanBeReadWhileAnotherWrites) {
  const TemporaryDirectory folder;
  EventStore writer(folder / "events.sqlite");
  writer.emit({"step", 0, 1, {{"loss", 1}}});
  const EventStore reader(folder / "events.sqlite", EventStore::Access::read);
  EXPECT_EQ(reader.events().size(), 1u);
  writer.emit({"step", 0, 2, {{"loss", 2}}});
  EXPECT_EQ(reader.events().size(), 2u);
}

TEST(EventStore, ErrorsNameTheFile) {
  const TemporaryDirectory folder;
  const auto path = folder / "events.sqlite";
  const auto message = [&](EventStore::Access access) -> std::string {
    try {
      EventStore store(path, access);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(message(EventStore::Access::read), HasSubstr(path.string()));
  write_file(path, std::string(5000, 'x'));
  EXPECT_THAT(message(EventStore::Access::write), HasSubstr(path.string()));
  EXPECT_THAT(message(EventStore::Access::read), HasSubstr("not a database"));
}

}  // namespace
}  // namespace nascent
