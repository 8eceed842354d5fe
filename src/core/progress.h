// A progress bar with rate and time left on a terminal, a plain line now and then in a log.
//
//   Progress progress("train", total_steps, done_steps);
//   progress.advance(1, "loss 0.42");
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace nascent {

class Progress {
 public:
  // `done` counts work finished before a resume; it does not enter the rate.
  Progress(std::string label, int64_t total, int64_t done = 0);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void advance(int64_t n, const std::string& note = "");
  // Leaves the last line standing; called by the destructor too.
  void finish();

 private:
  void draw(bool last);

  std::string label_, note_;
  int64_t total_, done_, first_;
  bool terminal_, finished_ = false;
  std::chrono::steady_clock::time_point start_, last_draw_;
};

// "1:05", "2:03:04".
std::string clock_text(double seconds);

}  // namespace nascent
