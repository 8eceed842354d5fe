// Runs another program without a shell: arguments are passed as they are, standard input is given, output collected.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nascent {

struct ProgramOutput {
  int exit_code = 0;  // 128 + signal where a signal ended it
  std::string out, err;
};

// Nothing where there is no such program on PATH. A program that takes longer than `limit` is killed.
std::optional<ProgramOutput> run_program(const std::vector<std::string>& command, std::string_view input,
                                         std::chrono::milliseconds limit = std::chrono::seconds(60));

}  // namespace nascent
