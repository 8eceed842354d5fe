#include "nascent/core/interrupt.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>

namespace nascent {
namespace {

std::atomic<bool> requested{false}, signalled{false};

// A stop that another process asked for is no signal: the first of these still only asks.
void on_signal(int) {
  requested = true;
  if (signalled.exchange(true)) _exit(130);
  constexpr char kText[] = "\nStopping at the next step; press Ctrl-C again to stop at once.\n";
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, kText, sizeof(kText) - 1);
}

}  // namespace

void catch_interrupts() {
  struct sigaction action = {};
  action.sa_handler = on_signal;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGUSR1, &action, nullptr);  // Slurm's word that the time is nearly up
  // A terminal that closes stops the run as Ctrl-C does; one started with nohup goes on.
  struct sigaction hang_up = {};
  if (sigaction(SIGHUP, nullptr, &hang_up) == 0 && hang_up.sa_handler != SIG_IGN) sigaction(SIGHUP, &action, nullptr);
}

bool interrupt_requested() { return requested; }
void request_interrupt(bool value) {
  requested = value;
  if (!value) signalled = false;
}

}  // namespace nascent
