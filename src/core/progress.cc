#include "nascent/core/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "nascent/core/log.h"

namespace nascent {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

int terminal_width() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20 ? size.ws_col : 100;
}

constexpr double kRedrawSeconds = 0.1;  // on a terminal
constexpr double kLineSeconds = 15;     // in a log
constexpr double kFirstSteps = 4;       // seconds that tell how long all will take
constexpr double kLong = 120;           // seconds from which on that is said

}  // namespace

std::string clock_text(double seconds) {
  const auto whole = static_cast<int64_t>(std::max(0.0, seconds) + 0.5);
  if (whole >= 3600) return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
  return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

std::string duration_text(double seconds) {
  const auto minutes = static_cast<int64_t>(seconds / 60 + 0.5);
  if (seconds < 100) return fmt::format("{:.0f} s", std::max(1.0, seconds));
  if (minutes < 60) return fmt::format("{} min", minutes);
  if (minutes < 48 * 60) {
    return minutes % 60 == 0 ? fmt::format("{} h", minutes / 60)
                             : fmt::format("{} h {} min", minutes / 60, minutes % 60);
  }
  const int64_t hours = (minutes + 30) / 60;
  return hours % 24 == 0 ? fmt::format("{} days", hours / 24) : fmt::format("{} days {} h", hours / 24, hours % 24);
}

Progress::Progress(std::string label, int64_t total, int64_t done)
    : label_(std::move(label)), total_(total), done_(done), first_(done), terminal_(isatty(STDERR_FILENO) != 0) {
  start_ = last_draw_ = Clock::now();
}

Progress::~Progress() { finish(); }

void Progress::advance(int64_t n, const std::string& note) {
  done_ += n;
  note_ = note;
  say_estimate();
  const double pause = terminal_ ? kRedrawSeconds : kLineSeconds;
  if (seconds_between(last_draw_, Clock::now()) >= pause) draw(false);
}

void Progress::finish() {
  if (finished_) return;
  finished_ = true;
  draw(true);
}

void Progress::say_estimate() {
  const double elapsed = seconds_between(start_, Clock::now());
  if (estimated_ || elapsed < kFirstSteps) return;
  estimated_ = true;
  const double left = elapsed / static_cast<double>(done_ - first_) * static_cast<double>(total_ - done_);
  if (left < kLong) return;
  const std::string shorter = shorter_ ? shorter_(elapsed + left) : "";
  if (terminal_ && log::shows(log::Level::info)) std::fprintf(stderr, "\r\033[K");
  log::info("{}: about {}{}", label_, duration_text(elapsed + left), shorter.empty() ? "" : "; " + shorter);
}

void Progress::draw(bool last) {
  if (!log::shows(log::Level::info)) return;
  last_draw_ = Clock::now();
  const double elapsed = seconds_between(start_, last_draw_);
  const double rate = elapsed > 0 ? static_cast<double>(done_ - first_) / elapsed : 0;
  const double left = rate > 0 ? static_cast<double>(total_ - done_) / rate : 0;
  const double share = total_ > 0 ? static_cast<double>(done_) / static_cast<double>(total_) : 1;
  const std::string times =
      last ? fmt::format("{} in all", clock_text(elapsed)) : fmt::format("{} left", clock_text(left));
  const std::string facts = fmt::format("{}/{}  {:.3g}/s  {}  {}", done_, total_, rate, times, note_);
  if (!terminal_) {
    log::info("{}: {:3.0f}%  {}", label_, 100 * share, facts);
    return;
  }
  constexpr int kBar = 24;
  const int filled = std::clamp(static_cast<int>(share * kBar), 0, kBar);
  std::string line =
      fmt::format("{} [{}{}] {}", label_, std::string(filled, '='), std::string(kBar - filled, ' '), facts);
  line.resize(std::min<size_t>(line.size(), terminal_width() - 1));
  std::fprintf(stderr, "\r%s\033[K%s", line.c_str(), last ? "\n" : "");
  std::fflush(stderr);
}

}  // namespace nascent
