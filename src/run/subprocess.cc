#include "nascent/run/subprocess.h"

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <thread>

#include "nascent/core/error.h"

extern char** environ;

namespace nascent {
namespace {

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
// Nameless temporary files instead of pipes: neither side ever waits for the other, so nothing can block.
using TemporaryFile = std::unique_ptr<std::FILE, CloseFile>;

TemporaryFile temporary_file() {
  TemporaryFile file(std::tmpfile());
  if (file == nullptr) fail("Cannot create a temporary file: {}.", std::strerror(errno));
  return file;
}

TemporaryFile file_with(std::string_view bytes) {
  TemporaryFile file = temporary_file();
  const bool written = std::fwrite(bytes.data(), 1, bytes.size(), file.get()) == bytes.size();
  if (!written || std::fflush(file.get()) != 0) fail("Cannot write a temporary file: {}.", std::strerror(errno));
  std::rewind(file.get());
  return file;
}

std::string contents(std::FILE* file) {
  std::rewind(file);
  std::string bytes;
  char chunk[1 << 16];
  for (size_t n = 0; (n = std::fread(chunk, 1, sizeof chunk, file)) > 0;) bytes.append(chunk, n);
  return bytes;
}

// -1 where the program could not be started.
pid_t spawn(const std::vector<std::string>& command, std::FILE* in, std::FILE* out, std::FILE* err) {
  std::vector<char*> arguments;
  for (const auto& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, fileno(in), 0);
  posix_spawn_file_actions_adddup2(&actions, fileno(out), 1);
  posix_spawn_file_actions_adddup2(&actions, fileno(err), 2);
  pid_t child = -1;
  const int problem = posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  return problem == 0 ? child : -1;
}

int wait_for(pid_t child, std::chrono::milliseconds limit) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  int status = 0;
  while (true) {
    const pid_t ended = ::waitpid(child, &status, WNOHANG);
    if (ended == child) break;
    if (ended < 0 && errno != EINTR) return 127;
    if (std::chrono::steady_clock::now() > deadline) ::kill(child, SIGKILL);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace

std::optional<ProgramOutput> run_program(const std::vector<std::string>& command, std::string_view input,
                                         std::chrono::milliseconds limit) {
  const TemporaryFile in = file_with(input), out = temporary_file(), err = temporary_file();
  const pid_t child = spawn(command, in.get(), out.get(), err.get());
  if (child < 0) return std::nullopt;
  ProgramOutput result;
  result.exit_code = wait_for(child, limit);
  result.out = contents(out.get());
  result.err = contents(err.get());
  return result;
}

}  // namespace nascent
