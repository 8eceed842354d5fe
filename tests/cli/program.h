// Runs the nascent program as a user would.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <vector>

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

  // Starts a run, stops it by a signal at random moments and resumes it until it ends by itself; returns how often it
  // was stopped. The moments are parts of the time that it takes undisturbed: the first two are too early for any
  // machine to end before them, and the later ones come so much later that none is too slow or too busy to get on.
  int stopped_until_it_ends(const std::vector<std::string>& start, const std::string& out,
                            std::chrono::duration<double> undisturbed, int signal) const {
    RandomStream random(2, "stop");
    for (int stops = 0; stops < 60; ++stops) {
      const auto delay = undisturbed * (0.3 + 0.01 * random.below(15)) * std::pow(1.08, stops);
      // Stopped before there was a run, it is begun again.
      const bool begun = std::filesystem::exists(folder_ / out / "run.json");
      const int code = signalled(begun ? std::vector<std::string>{start[0], "--resume", path(out)} : start,
                                 std::chrono::duration_cast<std::chrono::milliseconds>(delay), signal);
      if (code == 0) return stops;
      const bool stopped = code == -signal || (signal == SIGINT && code == 130);
      EXPECT_TRUE(stopped) << "exit code " << code << ": " << said();
      if (!stopped) return stops;
    }
    ADD_FAILURE() << "still at work: " << said();
    return 0;
  }

  // Runs to success and returns how long that took.
  static std::chrono::duration<double> seconds_of(const std::vector<std::string>& arguments) {
    const auto start = std::chrono::steady_clock::now();
    json_of(arguments);
    return std::chrono::steady_clock::now() - start;
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
      const auto ended = [&] {
        siginfo_t info{};
        return waitid(P_PID, child, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == child;
      };
      while (!ended() && written() < bytes) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    };
    return signalled(arguments, wait, signal);
  }

  // What the program that was signalled last said to people.
  std::string said() const { return read_file(path("said.txt")); }

  std::filesystem::path folder_;

  // Starts the program, and sends it a signal once `wait` returns, which is called with its process.
  int signalled(std::vector<std::string> arguments, const std::function<void(pid_t)>& wait, int signal) const {
    arguments.insert(arguments.begin(), NASCENT_PROGRAM);
    std::vector<char*> argv;
    for (auto& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    const std::string messages = path("said.txt");
    const pid_t child = fork();
    if (child == 0) {
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
