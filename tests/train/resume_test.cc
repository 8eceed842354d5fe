// A run that is stopped, however and wherever, and resumed must end in the bytes of one that was not.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "nascent/core/files.h"
#include "nascent/core/interrupt.h"
#include "nascent/core/log.h"
#include "nascent/nn/engine.h"
#include "train/toy.h"

extern char** environ;

namespace nascent {
namespace {

namespace fs = std::filesystem;

TrainOptions options_of(const std::string& optimizer, double ema) {
  TrainOptions options = toy::options(3);
  options.optimizer.optimizer = optimizer;
  options.optimizer.nesterov = optimizer == "sgd";
  options.label_smoothing = 0.1;
  options.ema = ema;
  return options;
}

std::string final_bytes(const CheckpointStore& store) { return read_file(store.newest_path()); }

std::string whole_run(const TrainOptions& options, const fs::path& folder, EventSink* events = nullptr) {
  CheckpointStore store(folder);
  run_job(*toy::trainer(options), {.checkpoints = &store, .events = events});
  return final_bytes(store);
}

// Without the wall-clock.
std::vector<std::string> texts(const toy::Recorder& recorder) {
  std::vector<std::string> all;
  for (auto event : recorder.events) {
    event.values.erase("seconds");
    all.push_back(fmt::format("{} {} {} {}", event.kind, event.epoch, event.step, event.values.dump()));
  }
  return all;
}

class Resume : public testing::TestWithParam<std::pair<std::string, double>> {};

TEST_P(Resume, AfterEveryStepEndsInTheSameBytes) {
  const auto options = options_of(GetParam().first, GetParam().second);
  const toy::Folder folder;
  toy::Recorder whole_events;
  const std::string expected = whole_run(options, folder.path() / "whole", &whole_events);
  for (int stop = 1; stop < 12; ++stop) {
    CheckpointStore store(folder.path() / std::to_string(stop));
    toy::Recorder events;
    EXPECT_THROW(run_job(*toy::trainer(options), {.checkpoints = &store, .events = &events, .stop_after_steps = stop}),
                 Interrupted);
    run_job(*toy::trainer(options), {.checkpoints = &store, .events = &events, .resume = true});
    EXPECT_TRUE(final_bytes(store) == expected) << "stopped after step " << stop;
    EXPECT_EQ(texts(events), texts(whole_events)) << "stopped after step " << stop;
  }
}

TEST_P(Resume, StepByStepEndsInTheSameBytes) {
  const auto options = options_of(GetParam().first, GetParam().second);
  const toy::Folder folder;
  const std::string expected = whole_run(options, folder.path() / "whole");
  CheckpointStore store(folder.path() / "steps");
  for (int step = 0; step < 11; ++step) {
    EXPECT_THROW(run_job(*toy::trainer(options), {.checkpoints = &store, .resume = true, .stop_after_steps = 1}),
                 Interrupted);
  }
  run_job(*toy::trainer(options), {.checkpoints = &store, .resume = true});
  EXPECT_TRUE(final_bytes(store) == expected);
}

INSTANTIATE_TEST_SUITE_P(All, Resume,
                         testing::Values(std::pair("sgd", 0.0), std::pair("sgd", 0.9), std::pair("adam", 0.9)),
                         [](const auto& info) {
                           return info.param.first + (info.param.second > 0 ? "WithAverage" : "");
                         });

TEST(ResumedRun, EndsInTheSameBytesInBf16) {
  const PrecisionScope scope(Precision::bf16);
  const auto options = options_of("sgd", 0.9);
  const toy::Folder folder;
  const std::string expected = whole_run(options, folder.path() / "whole");
  EXPECT_TRUE(whole_run(options, folder.path() / "again") == expected);
  for (const int stop : {1, 5, 11}) {
    CheckpointStore store(folder.path() / std::to_string(stop));
    EXPECT_THROW(run_job(*toy::trainer(options), {.checkpoints = &store, .stop_after_steps = stop}), Interrupted);
    run_job(*toy::trainer(options), {.checkpoints = &store, .resume = true});
    EXPECT_TRUE(final_bytes(store) == expected) << "stopped after step " << stop;
  }
  const PrecisionScope in_float(Precision::single);
  EXPECT_FALSE(whole_run(options, folder.path() / "float") == expected) << "was it bf16?";
}

TEST(ResumedRun, TheBestModelSurvives) {
  auto options = options_of("sgd", 0.5);
  options.optimizer.lr = 0.4;
  const toy::Folder folder;
  const auto whole = toy::trainer(options);
  run_job(*whole, {});
  CheckpointStore store(folder.path());
  EXPECT_THROW(run_job(*toy::trainer(options), {.checkpoints = &store, .stop_after_steps = 9}), Interrupted);
  const auto resumed = toy::trainer(options);
  run_job(*resumed, {.checkpoints = &store, .resume = true});
  EXPECT_EQ(resumed->best_epoch(), whole->best_epoch());
  EXPECT_EQ(resumed->best().to_json(), whole->best().to_json());
  whole->restore_best();
  resumed->restore_best();
  const auto expected = weights_of(*whole->network()), found = weights_of(*resumed->network());
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_TRUE(found[i].second.equal(expected[i].second)) << expected[i].first;
  }
}

TEST(ResumedRun, FromTheOlderCheckpointWhereTheNewestIsDamaged) {
  const auto options = options_of("sgd", 0.9);
  const toy::Folder folder;
  const std::string expected = whole_run(options, folder.path() / "whole");
  CheckpointStore store(folder.path() / "damaged");
  EXPECT_THROW(run_job(*toy::trainer(options), {.checkpoints = &store, .stop_after_steps = 6}), Interrupted);
  const auto newest = store.newest_path();
  write_file(newest, read_file(newest).substr(0, 5000));
  EXPECT_EQ(store.newest_path().filename(), "checkpoint-4.nascent");
  run_job(*toy::trainer(options), {.checkpoints = &store, .resume = true});
  EXPECT_TRUE(final_bytes(store) == expected);
}

constexpr const char* kVictimFolder = "NASCENT_TEST_VICTIM";

// The program that is killed: this test program again, with nothing but this test.
TEST(KilledRun, Victim) {
  const char* folder = std::getenv(kVictimFolder);
  if (folder == nullptr) GTEST_SKIP() << "started by KilledRun.EndsInTheSameBytes";
  CheckpointStore store(folder);
  auto options = options_of("sgd", 0.9);
  options.epochs = 8;
  const auto trainer = toy::trainer(options);
  write_file(fs::path(folder) / "started", "");
  run_job(*trainer, {.checkpoints = &store, .resume = true, .checkpoint_steps = 1});
}

pid_t start_victim(const fs::path& folder) {
  fs::create_directories(folder);
  fs::remove(folder / "started");
  setenv(kVictimFolder, folder.c_str(), 1);
  std::string program = fs::read_symlink("/proc/self/exe").string(), filter = "--gtest_filter=KilledRun.Victim";
  char* arguments[] = {program.data(), filter.data(), nullptr};
  posix_spawn_file_actions_t quiet;
  posix_spawn_file_actions_init(&quiet);
  posix_spawn_file_actions_addopen(&quiet, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&quiet, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t child = -1;
  EXPECT_EQ(posix_spawn(&child, program.c_str(), &quiet, nullptr, arguments, environ), 0);
  posix_spawn_file_actions_destroy(&quiet);
  unsetenv(kVictimFolder);
  return child;
}

bool wait_for_start(const fs::path& folder) {
  for (int i = 0; i < 30000; ++i) {
    if (fs::exists(folder / "started")) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

TEST(KilledRun, EndsInTheSameBytes) {
  const toy::Folder folder;
  const auto begin = std::chrono::steady_clock::now();
  const pid_t calm = start_victim(folder.path() / "calm");
  ASSERT_TRUE(wait_for_start(folder.path() / "calm"));
  const auto trained = std::chrono::steady_clock::now();
  int status = -1;
  waitpid(calm, &status, 0);
  ASSERT_EQ(status, 0);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - trained).count();
  const std::string expected = final_bytes(CheckpointStore(folder.path() / "calm"));

  const fs::path killed = folder.path() / "killed";
  RandomStream random(static_cast<uint64_t>(begin.time_since_epoch().count()), "kill");
  constexpr int kKills = 5;
  int hits = 0;
  for (int i = 0; i < kKills; ++i) {
    const pid_t victim = start_victim(killed);
    ASSERT_TRUE(wait_for_start(killed));
    std::this_thread::sleep_for(std::chrono::duration<double>(random.uniform(0, seconds / 3)));
    kill(victim, SIGKILL);
    waitpid(victim, &status, 0);
    hits += WIFSIGNALED(status) ? 1 : 0;
  }
  waitpid(start_victim(killed), &status, 0);
  ASSERT_EQ(status, 0);
  EXPECT_GT(hits, 0) << "every run was over before it could be killed";
  EXPECT_TRUE(final_bytes(CheckpointStore(killed)) == expected);
}

}  // namespace
}  // namespace nascent
