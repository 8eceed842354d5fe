// A program that runs beside this one and is talked to in lines: what it reads is written to its standard input, what
// it answers comes from its standard output; its standard error is ours.
//
//   LineProcess program("python3 strategy.py");
//   program.write("{\"type\": \"propose\"}");
//   if (const auto line = program.read()) ... else the program ended: program.ended_how()
#pragma once

#include <sys/types.h>

#include <deque>
#include <optional>
#include <string>

namespace nascent {

class LineProcess {
 public:
  // By the shell, in a process group of its own, so that Ctrl-C reaches this program alone. An Error where that fails.
  explicit LineProcess(std::string command);
  // Closes its input and waits a moment for it to end by itself; then ends it.
  ~LineProcess();
  LineProcess(const LineProcess&) = delete;
  LineProcess& operator=(const LineProcess&) = delete;

  // False where the program ended or closed its input. Both throw Interrupted after Ctrl-C, and never wait for a
  // program that waits for us.
  bool write(const std::string& line);
  // Nothing where the program ended or closed its output. An Error where a line is longer than a mebibyte.
  std::optional<std::string> read();
  // "ended with exit code 1", "was ended by signal 9 (Killed)"; of one that still runs, "closed its standard output".
  std::string ended_how();

  const std::string& command() const { return command_; }

 private:
  // Writes what is due and takes in what there is, once; waits at most a moment.
  void exchange();
  void take_in();
  void give_out();

  std::string command_;
  pid_t child_ = -1;
  int in_ = -1, out_ = -1;         // our ends of its pipes; -1: closed
  std::string due_, unfinished_;   // what it shall read, and the beginning of a line that it writes
  std::deque<std::string> lines_;  // that it wrote
};

}  // namespace nascent
