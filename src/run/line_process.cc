#include "nascent/run/line_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include "nascent/core/error.h"
#include "nascent/core/interrupt.h"

extern char** environ;

namespace nascent {
namespace {

constexpr size_t kLongestLine = 1 << 20;
constexpr int kPatience = 100;  // ms between looks for Ctrl-C
constexpr auto kFarewell = std::chrono::seconds(2);

struct Pipe {
  int read = -1, write = -1;
};

Pipe make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) fail("Cannot create a pipe: {}.", std::strerror(errno));
  return {ends[0], ends[1]};
}

void close_end(int& end) {
  if (end >= 0) ::close(end);
  end = -1;
}

// -1 where it could not be started.
pid_t start_shell(const std::string& command, const Pipe& in, const Pipe& out) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in.read, 0);
  posix_spawn_file_actions_adddup2(&actions, out.write, 1);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setpgroup(&attributes, 0);
  std::string shell = "sh", option = "-c", text = command;
  const std::array<char*, 4> words = {shell.data(), option.data(), text.data(), nullptr};
  pid_t child = -1;
  const int problem = posix_spawn(&child, "/bin/sh", &actions, &attributes, words.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return problem == 0 ? child : -1;
}

// Nothing while it runs.
std::optional<int> status_of(pid_t child) {
  int status = 0;
  pid_t ended = 0;
  do ended = ::waitpid(child, &status, WNOHANG);
  while (ended < 0 && errno == EINTR);
  if (ended == 0) return std::nullopt;
  return ended == child ? status : 0;
}

std::optional<int> status_within(pid_t child, std::chrono::milliseconds limit) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (true) {
    if (const auto status = status_of(child)) return status;
    if (std::chrono::steady_clock::now() > deadline) return std::nullopt;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

// A write to a program that ended raises SIGPIPE, which would end this one: it is held back and taken away.
ssize_t write_quietly(int end, const std::string& text) {
  sigset_t pipe, before, waiting;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  sigpending(&waiting);
  const bool others = sigismember(&waiting, SIGPIPE) == 1;
  pthread_sigmask(SIG_BLOCK, &pipe, &before);
  const ssize_t written = ::write(end, text.data(), text.size());
  const int problem = errno;
  const timespec now{};
  if (written < 0 && problem == EPIPE && !others) sigtimedwait(&pipe, nullptr, &now);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = problem;
  return written;
}

}  // namespace

LineProcess::LineProcess(std::string command) : command_(std::move(command)) {
  Pipe in = make_pipe(), out = make_pipe();
  child_ = start_shell(command_, in, out);
  close_end(in.read);
  close_end(out.write);
  in_ = in.write;
  out_ = out.read;
  if (child_ < 0) {
    close_end(in_);
    close_end(out_);
    fail("The command '{}' could not be started: there is no /bin/sh that runs it.", command_);
  }
  ::fcntl(in_, F_SETFL, O_NONBLOCK);
  ::fcntl(out_, F_SETFL, O_NONBLOCK);
}

LineProcess::~LineProcess() {
  close_end(in_);
  close_end(out_);
  if (child_ < 0 || status_within(child_, kFarewell)) return;
  ::kill(-child_, SIGTERM);
  if (status_within(child_, kFarewell)) return;
  ::kill(-child_, SIGKILL);
  status_within(child_, kFarewell);
}

bool LineProcess::write(const std::string& line) {
  due_ += line + "\n";
  while (in_ >= 0 && !due_.empty()) exchange();
  return in_ >= 0;
}

std::optional<std::string> LineProcess::read() {
  while (lines_.empty()) {
    if (unfinished_.size() > kLongestLine) {
      fail("The command '{}' wrote a line of more than {} bytes; a line of JSON that ends in a newline was expected.",
           command_, kLongestLine);
    }
    if (out_ < 0) return std::nullopt;
    exchange();
  }
  std::string line = std::move(lines_.front());
  lines_.pop_front();
  return line;
}

void LineProcess::exchange() {
  if (interrupt_requested()) throw Interrupted();
  std::array<pollfd, 2> ends = {pollfd{out_, POLLIN, 0}, pollfd{due_.empty() ? -1 : in_, POLLOUT, 0}};
  ::poll(ends.data(), ends.size(), kPatience);
  if (ends[0].revents != 0) take_in();
  if (ends[1].revents != 0) give_out();
}

void LineProcess::take_in() {
  std::array<char, 1 << 16> chunk{};
  const ssize_t count = ::read(out_, chunk.data(), chunk.size());
  if (count == 0) close_end(out_);
  for (ssize_t i = 0; i < count; ++i) {
    if (chunk[i] != '\n') {
      unfinished_ += chunk[i];
    } else {
      lines_.push_back(std::exchange(unfinished_, {}));
    }
  }
}

void LineProcess::give_out() {
  const ssize_t count = write_quietly(in_, due_);
  if (count > 0) due_.erase(0, static_cast<size_t>(count));
  if (count < 0 && errno != EAGAIN && errno != EINTR) close_end(in_);
}

std::string LineProcess::ended_how() {
  const auto status = child_ < 0 ? std::nullopt : status_within(child_, kFarewell);
  if (!status) return "closed its standard output";
  child_ = -1;
  if (WIFSIGNALED(*status)) {
    return fmt::format("was ended by signal {} ({})", WTERMSIG(*status), ::strsignal(WTERMSIG(*status)));
  }
  const int code = WEXITSTATUS(*status);
  return fmt::format("ended with exit code {}{}", code, code == 127 ? " (there is no such program)" : "");
}

}  // namespace nascent
