// Ctrl-C, a request to end, or a terminal that closes: the first asks the running loop to stop at the next step, the
// second ends the program at once.
#pragma once

#include <exception>

namespace nascent {

// Thrown by a loop that stopped on request after writing a checkpoint; the program ends with exit code 130.
class Interrupted : public std::exception {
 public:
  const char* what() const noexcept override { return "interrupted"; }
};

void catch_interrupts();
bool interrupt_requested();
// For tests: as if Ctrl-C had been pressed, or taken back.
void request_interrupt(bool requested = true);

}  // namespace nascent
