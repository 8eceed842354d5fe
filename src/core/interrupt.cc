#include "nascent/core/interrupt.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>

namespace nascent {
namespace {

std::atomic<bool> requested{false};

void on_signal(int) {
  if (requested.exchange(true)) _exit(130);
  constexpr char kText[] = "\nStopping at the next step; press Ctrl-C again to stop at once.\n";
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, kText, sizeof(kText) - 1);
}

}  // namespace

void catch_interrupts() {
  struct sigaction action = {};
  action.sa_handler = on_signal;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  // A terminal that closes stops the run as Ctrl-C does; one started with nohup goes on.
  struct sigaction hang_up = {};
  if (sigaction(SIGHUP, nullptr, &hang_up) == 0 && hang_up.sa_handler != SIG_IGN) sigaction(SIGHUP, &action, nullptr);
}

bool interrupt_requested() { return requested; }
void request_interrupt(bool value) { requested = value; }

}  // namespace nascent
