// Runs the nascent program as a user would.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
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
  static int signalled(std::vector<std::string> arguments, std::chrono::milliseconds delay, int signal) {
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
    std::this_thread::sleep_for(delay);
    kill(child, signal);
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

  std::filesystem::path folder_;
};

}  // namespace nascent
