// Runs the nascent program as a user would.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "nascent/cli/verb.h"
#include "nascent/core/files.h"
#include "nascent/core/options.h"
#include "nascent/core/random.h"
#include "nascent/run/subprocess.h"

namespace nascent {

class ProgramTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::temp_directory_path() / fmt::format("nascent-cli-{}-{}", ::getpid(), info->name());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  static ProgramOutput nascent(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), NASCENT_PROGRAM);
    return run_program(arguments, "", std::chrono::minutes(5)).value();
  }

  // The same in this process, for what ends before any work: a program of its own for every mistake costs more than the
  // mistakes. What computes is left to the program, which sees to its kernels first.
  static ProgramOutput at_once(const std::vector<std::string>& arguments) {
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    const int code = run_command_line(arguments);
    std::fflush(nullptr);
    const std::string err = testing::internal::GetCapturedStderr();
    return {code, testing::internal::GetCapturedStdout(), err};
  }

  // Runs to success and returns the object on standard output.
  static Json json_of(std::vector<std::string> arguments) {
    arguments.push_back("--json");
    const ProgramOutput result = nascent(arguments);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return Json::parse(result.out);
  }

  // Starts the program and sends it a signal after a while; returns its exit code, or minus the signal that ended it.
  int signalled(const std::vector<std::string>& arguments, std::chrono::milliseconds delay, int signal) const {
    return signalled(
        arguments, [&](pid_t) { std::this_thread::sleep_for(delay); }, signal);
  }

  // Starts a run, stops it by a signal again and again, and resumes it until it ends by itself; returns how often it
  // was stopped. A stop comes when the run has kept something new, and a random moment later: counted by work and not
  // by the clock, no machine is too fast to be stopped nor too busy to get on. Later stops wait for more.
  int stopped_until_it_ends(const std::vector<std::string>& start, const std::string& out, int signal) const {
    RandomStream random(2, "stop");
    for (int stops = 0; stops < 60; ++stops) {
      const size_t news = 1 + random.below(1 + 2 * stops * stops);
      const auto after = std::chrono::milliseconds(random.below(25));
      const std::set<std::string> before = kept_files(folder_ / out);
      // Stopped before there was a run, it is begun again.
      const bool begun = std::filesystem::exists(folder_ / out / "run.json");
      const int code = signalled(
          begun ? resumed(start, out) : start,
          [&](pid_t child) {
            std::set<std::string> seen = before;
            while (!has_ended(child) && seen.size() < before.size() + news) {
              seen.merge(kept_files(folder_ / out));
              std::this_thread::sleep_for(std::chrono::milliseconds(2));
            }
            std::this_thread::sleep_for(after);
          },
          signal);
      if (code == 0) return stops;
      const bool stopped = code == -signal || (signal == SIGINT && code == 130);
      EXPECT_TRUE(stopped) << "exit code " << code << ": " << said();
      if (!stopped) return stops;
    }
    ADD_FAILURE() << "still at work: " << said();
    return 0;
  }

  // Signals when the files of a folder hold so many bytes: however fast the machine is, something has been done then.
  int signalled_when(const std::vector<std::string>& arguments, const std::filesystem::path& folder, uintmax_t bytes,
                     int signal) const {
    const auto written = [&] {
      uintmax_t sum = 0;
      std::error_code none;
      for (const auto& entry : std::filesystem::directory_iterator(folder, none)) sum += entry.file_size(none);
      return sum;
    };
    const auto wait = [&](pid_t child) {
      while (!has_ended(child) && written() < bytes) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    };
    return signalled(arguments, wait, signal);
  }

  // What the program that was signalled last said to people.
  std::string said() const { return read_file(path("said.txt")); }

  std::filesystem::path folder_;

  static bool has_ended(pid_t child) {
    siginfo_t info{};
    return waitid(P_PID, child, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == child;
  }

  // What a run has kept so far of its work and that of its parts: checkpoints, results and predictions.
  static std::set<std::string> kept_files(const std::filesystem::path& run) {
    std::set<std::string> names;
    std::error_code error;  // files come and go meanwhile
    for (std::filesystem::recursive_directory_iterator entry(run, error), end; !error && entry != end;
         entry.increment(error)) {
      const std::string name = entry->path().filename();
      const bool predicted = entry->path().parent_path().filename() == "predictions";
      if (name.starts_with("checkpoint-") || name == "result.json" || predicted) names.insert(entry->path());
    }
    return names;
  }

  // The command that goes on with a run: the verb, of one or two words, and the run.
  std::vector<std::string> resumed(const std::vector<std::string>& start, const std::string& out) const {
    std::vector<std::string> words = {start[0]};
    if (!start[1].starts_with("-") && start[1].find('/') == std::string::npos) words.push_back(start[1]);
    words.insert(words.end(), {"--resume", path(out)});
    return words;
  }

  // Starts the program, and sends it a signal once `wait` returns, which is called with its process.
  int signalled(std::vector<std::string> arguments, const std::function<void(pid_t)>& wait, int signal) const {
    arguments.insert(arguments.begin(), NASCENT_PROGRAM);
    std::vector<char*> argv;
    for (auto& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    const std::string messages = path("said.txt");
    const pid_t child = fork();
    if (child == 0) {
      ::signal(signal, SIG_DFL);  // ignored where the tests run by nohup
      [[maybe_unused]] FILE* quiet = freopen(messages.c_str(), "w", stderr);
      quiet = freopen("/dev/null", "w", stdout);
      execv(argv[0], argv.data());
      _exit(127);
    }
    wait(child);
    kill(child, signal);
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }
};

}  // namespace nascent
