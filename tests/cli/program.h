// Runs the nascent program as a user would.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "core/files.h"
#include "core/options.h"
#include "run/subprocess.h"

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
  static int signalled(const std::vector<std::string>& arguments, std::chrono::milliseconds delay, int signal) {
    return signalled(
        arguments, [&](pid_t) { std::this_thread::sleep_for(delay); }, signal);
  }

  // The same when the files of a folder hold so many bytes: however fast the machine is, something has been done then.
  static int signalled_when(const std::vector<std::string>& arguments, const std::filesystem::path& folder,
                            uintmax_t bytes, int signal) {
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

  std::filesystem::path folder_;

 private:
  static int signalled(std::vector<std::string> arguments, const std::function<void(pid_t)>& wait, int signal) {
    arguments.insert(arguments.begin(), NASCENT_PROGRAM);
    std::vector<char*> argv;
    for (auto& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    const pid_t child = fork();
    if (child == 0) {
      [[maybe_unused]] FILE* quiet = freopen("/dev/null", "w", stderr);
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
