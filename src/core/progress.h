// A progress bar with rate and time left on a terminal, a plain line now and then in a log.
//
//   Progress progress("train", total_steps, done_steps);
//   progress.advance(1, "loss 0.42");
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
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
  // Once the first steps tell how long all will take, that is said, where it is long, with what `shorter` advises for
  // so many seconds.
  void advise(std::function<std::string(double seconds)> shorter) { shorter_ = std::move(shorter); }
  // Leaves the last line standing; called by the destructor too.
  void finish();

 private:
  void draw(bool last);
  void say_estimate();

  std::string label_, note_;
  int64_t total_, done_, first_;
  bool terminal_, finished_ = false, estimated_ = false;
  std::function<std::string(double)> shorter_;
  std::chrono::steady_clock::time_point start_, last_draw_;
};

// "1:05", "2:03:04".
std::string clock_text(double seconds);
// "40 s", "25 min", "5 h 45 min", "2 days 3 h": as exact as an estimate can be.
std::string duration_text(double seconds);

}  // namespace nascent
